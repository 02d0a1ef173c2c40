/** Instance metadata and the startup script of an instance. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';

import { InstanceMetadata } from '../../../../src/pool/providers/ec2/instance-metadata.ts';
import { BATCH_TAG } from '../../../../src/pool/providers/ec2/tags.ts';
import { userDataOf } from '../../../../src/pool/providers/ec2/user-data.ts';

interface Metadata {
  readonly values: Map<string, string>;
  readonly url: string;
  tokens: number;
  /** Expires the tokens issued so far. */
  expire: () => void;
}

async function serveMetadata(t: TestContext): Promise<Metadata> {
  const values = new Map([
    ['/latest/meta-data/instance-id', 'i-1'],
    ['/latest/meta-data/local-ipv4', '10.0.0.7'],
    [`/latest/meta-data/tags/instance/${BATCH_TAG}`, 'batch-1'],
  ]);
  let valid = '';
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    if (request.method === 'PUT' && path === '/latest/api/token') {
      valid = `token-${(found.tokens += 1)}`;
      return void response.end(valid);
    }
    if (request.headers['x-aws-ec2-metadata-token'] !== valid) return void response.writeHead(401).end();
    const value = values.get(path);
    if (value === undefined) response.writeHead(404).end('<html>not found</html>');
    else response.end(value);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const found: Metadata = { values, url, tokens: 0, expire: () => (valid = 'none') };
  return found;
}

test('an instance reads its id, its address and its batch with one token', async (t) => {
  const served = await serveMetadata(t);
  const metadata = new InstanceMetadata(served.url, () => 0);
  assert.deepEqual(await metadata.identity(), { provider_id: 'i-1', batch_id: 'batch-1', address: '10.0.0.7' });
  assert.equal(served.tokens, 1);
});

test('an instance may be unable to read its tags', async (t) => {
  const served = await serveMetadata(t);
  served.values.delete(`/latest/meta-data/tags/instance/${BATCH_TAG}`);
  const { batch_id } = await new InstanceMetadata(served.url, () => 0).identity();
  assert.equal(batch_id, null);
});

test('an interruption is reported once there is a notice', async (t) => {
  const served = await serveMetadata(t);
  const metadata = new InstanceMetadata(served.url, () => 0);
  assert.equal(await metadata.interruption(), null);
  served.values.set('/latest/meta-data/spot/instance-action', '{"action":"terminate","time":"2026-01-01T00:00:00Z"}');
  assert.match((await metadata.interruption())!, /^interrupted: .*terminate/);
});

test('an expired token is replaced, by its age or after a refusal', async (t) => {
  const served = await serveMetadata(t);
  let now = 0;
  const metadata = new InstanceMetadata(served.url, () => now);
  await metadata.identity();
  now += 21_600_000;
  await metadata.identity();
  assert.equal(served.tokens, 2);
  served.expire();
  await assert.rejects(metadata.identity(), /401/);
  await metadata.identity();
  assert.equal(served.tokens, 3);
});

test('without a metadata service, it is not an EC2 instance', async (t) => {
  const served = await serveMetadata(t);
  served.values.clear();
  await assert.rejects(new InstanceMetadata(served.url, () => 0).identity(), /run this on an EC2 instance/);
});

test('the script exports its variables unchanged, and terminates the instance when the agent ends', async () => {
  const nasty = `it's $HOME "x" \\ \`id\` ; exit 7`;
  const script = userDataOf({ environment: { HEDDLE_A: nasty, B: '' }, command: 'printf "%s|%s" "$HEDDLE_A" "$B"' });
  const stand_in = script.replace('shutdown -h now', 'echo; echo down');
  const { stdout } = await promisify(execFile)('bash', ['-c', stand_in]);
  assert.equal(stdout, `${nasty}|\ndown\n`);
  assert.match(script, /^#!\/bin\/bash\ntrap "shutdown -h now" EXIT\n/);
  assert.throws(() => userDataOf({ environment: { 'A B': '' } }), /A B/);
});
