import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { makeCertificate } from '@heddle/test-support/certificates';
import { serveTls } from '@heddle/test-support/tls-servers';
import { reconSurroundings, recordsOf } from '../support/command/fixture.ts';

const near = reconSurroundings();

describe('tls', () => {
  test('certificates with their names and findings; versions; a port without TLS', async (t) => {
    const certificate = await makeCertificate({ name: 'www.example.test' });
    const server = await serveTls(t, [certificate]);
    near.directory.write('roots.pem', certificate.pem);
    const targets = [`www.example.test:${server.port}`, `127.0.0.1:${near.greeter.port}`];
    const args = [...targets, '--scope', 'example.test', '--resolvers', near.names.address];
    const [json, table] = await Promise.all([
      near.directory.recon(['tls', ...args, '--json', '--versions']),
      near.directory.recon(['tls', ...args, '--roots', 'roots.pem']),
    ]);
    assert.equal(json.code, 0);
    const [good, bad] = recordsOf(json).sort((one) => (one['probe_status'] === true ? -1 : 1));
    assert.equal(good!['sni'], 'www.example.test');
    assert.deepEqual(good!['version_enum'], ['tls13', 'tls12']);
    assert.deepEqual(good!['findings'], ['self_signed', 'untrusted']);
    assert.match(String(bad!['error']), /TLS/);
    assert.match(json.stderr, /^2 endpoints in .*: 1 handshake, \d+ connections\n$/);
    assert.match(table.lines[0]!, /^ADDRESS +VERSION +CIPHER +NOT AFTER +NAMES +FINDINGS$/);
    assert.ok(
      table.lines.some((line) => / tls13 .* www\.example\.test/.test(line) && !line.includes('untrusted')),
      table.stdout,
    );
  });
});
