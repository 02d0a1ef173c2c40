import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';

import { makeCertificate } from '@heddle/test-support/certificates';
import { ended, type Ended } from '@heddle/test-support/cli/command-process';
import { ScanDirectory, token } from '../support/cli/scan-process.ts';

const ACTIVE = token(1);
const INACTIVE = token(2);
const FAILING = token(3);
const FILES = {
  'verify.toml': '[[rules]]\nid = "test-token"\nverify = "github"\n',
  'app/a.env': `TOKEN=${ACTIVE}\n`,
  'app/b.env': `TOKEN=${INACTIVE}\n`,
  'app/c.env': `TOKEN=${FAILING}\nAGAIN=${ACTIVE}\n`,
  'inactive/b.env': `TOKEN=${INACTIVE}\n`,
};

let directory: ScanDirectory;
let github: Server;
let address: string;
let asked: string[] = [];
/** Called with each request, before it is answered. */
let onRequest: (count: number) => void = () => undefined;

before(async () => {
  directory = new ScanDirectory(FILES);
  github = createServer(({ headers }, response) => {
    const secret = (headers.authorization ?? '').replace('Bearer ', 'tst_');
    asked.push(secret);
    onRequest(asked.length);
    if (secret === FAILING) response.writeHead(500).end(`the token ${secret} made us fail`);
    else if (secret === ACTIVE)
      response
        .writeHead(200, { 'content-type': 'application/json', 'x-oauth-scopes': 'repo, gist' })
        .end(JSON.stringify({ login: 'octocat', token: secret }));
    else response.writeHead(401).end(`bad token ${secret}`);
  });
  github.listen(0, '127.0.0.1');
  await once(github, 'listening');
  address = `http://127.0.0.1:${(github.address() as AddressInfo).port}`;
});

beforeEach(() => {
  asked = [];
  onRequest = () => undefined;
});

after(() => {
  github.closeAllConnections();
  github.close();
  directory.remove();
});

const ask = (): string[] => [
  '--rules',
  'verify.toml',
  '--verify',
  '--verify-endpoint',
  `github=${address}`,
  '--verify-allow',
  '127.0.0.1/32',
];
const verify = (...args: string[]): Promise<Ended> => directory.scan([...args, ...ask()]);
const fileOf = (name: string): string => readFileSync(join(directory.path, name), 'utf8');

function assertNoSecret(text: string): void {
  for (const secret of [ACTIVE, INACTIVE, FAILING]) assert.ok(!text.includes(secret.slice(8)), text);
}

describe('heddle scan --verify', () => {
  test('gives each finding a verdict in every format, asks once for each secret, and shows none', async () => {
    const formats = ['text', 'sarif', 'junit', 'html', 'csv'] as const;
    const reports = formats.flatMap((format) => ['--report', `${format}=report.${format}`]);
    const scanned = await verify('app', '--json', ...reports);
    assert.equal(scanned.code, 1);
    assert.deepEqual(asked.toSorted(), [ACTIVE, INACTIVE, FAILING].toSorted());
    const findings = scanned.json.filter(({ type }) => type === 'finding');
    const verdicts = findings.map(({ path, verification }) => {
      const { verdict, reason, identity, permissions } = verification as Record<string, unknown>;
      return [path, verdict, String(reason).replace(address.slice('http://'.length), 'HOST'), identity, permissions];
    });
    assert.deepEqual(verdicts, [
      ['app/a.env', 'active', 'GitHub accepted it at HOST (HTTP 200)', 'octocat', ['repo', 'gist']],
      ['app/b.env', 'inactive', 'GitHub rejected it at HOST (HTTP 401)', null, []],
      ['app/c.env', 'unknown', 'GitHub failed (HTTP 500); verify it again later', null, []],
      ['app/c.env', 'active', 'GitHub accepted it at HOST (HTTP 200)', 'octocat', ['repo', 'gist']],
    ]);
    assert.deepEqual(scanned.json.at(-1)!['verdicts'], { active: 2, inactive: 1, unknown: 1, not_shown: 0 });
    assert.match(scanned.stderr, /verified: 2 active, 1 inactive, 1 unknown/);
    assertNoSecret(scanned.stdout + scanned.stderr);
    for (const format of formats) assertNoSecret(fileOf(`report.${format}`));
    assert.match(
      fileOf('report.text'),
      /verified {4}active: GitHub accepted it .*; identity octocat; permissions repo, gist/,
    );
    assert.match(fileOf('report.junit'), /verified: inactive: GitHub rejected it/);
    assert.match(fileOf('report.csv'), /,unknown,GitHub failed \(HTTP 500\); verify it again later,,\r\n/);
    const html = fileOf('report.html');
    const order = ['Active: revoke these now', 'Look at these next', 'Inactive:'].map((title) => html.indexOf(title));
    assert.deepEqual(
      order,
      order.toSorted((left, right) => left - right),
    );
    assert.ok(order.every((at) => at > 0));
    const sarif = JSON.parse(fileOf('report.sarif')) as {
      runs: [{ results: { level: string; rank: number; properties: { verification: { verdict: string } } }[] }];
    };
    assert.deepEqual(
      sarif.runs[0].results.map(({ level, rank, properties }) => [properties.verification.verdict, level, rank]),
      [
        ['active', 'error', 100],
        ['inactive', 'note', 10],
        ['unknown', 'warning', 60],
        ['active', 'error', 100],
      ],
    );
  });

  test('--only-active leaves other verdicts out of the report and the exit code', async () => {
    const some = await verify('app', '--only-active', '--json');
    assert.equal(some.code, 1);
    assert.deepEqual(
      some.json.filter(({ type }) => type === 'finding').map(({ path }) => path),
      ['app/a.env', 'app/c.env'],
    );
    assert.deepEqual(some.json.at(-1)!['verdicts'], { active: 2, inactive: 1, unknown: 1, not_shown: 2 });
    const none = await verify('inactive', '--only-active');
    assert.equal(none.code, 0);
    assert.match(none.stdout, /verified: 0 active, 1 inactive, 0 unknown; not shown with --only-active: 1 finding/);
    const alone = await directory.scan(['app', '--only-active']);
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /--only-active needs --verify/);
  });

  test('sends no request without the option, nor about findings of a baseline', async () => {
    const plain = await directory.scan(['app', '--write-baseline', 'known.json']);
    assert.equal(plain.code, 1);
    const known = await verify('app', '--baseline', 'known.json');
    assert.equal(known.code, 0);
    assert.deepEqual(asked, []);
  });

  test('does not send secrets to internal addresses unless they are allowed', async () => {
    const scanned = await directory.scan([
      'app/a.env',
      '--rules',
      'verify.toml',
      '--verify',
      '--verify-endpoint',
      `github=${address}`,
    ]);
    assert.match(scanned.stdout, /verified {4}unknown: GitHub was not asked: 127\.0\.0\.1 is a loopback address/);
    assert.deepEqual(asked, []);
  });

  test('names an endpoint of no verification, and what may be meant', async () => {
    const scanned = await directory.scan([
      'app',
      '--rules',
      'verify.toml',
      '--verify',
      '--verify-endpoint',
      'githab=https://github.example',
    ]);
    assert.equal(scanned.code, 2);
    assert.match(scanned.stderr, /--verify-endpoint githab: no rule has such a verification; did you mean "github"/);
  });

  test('a provider needs a certificate that is trusted', async () => {
    const { pem, key } = await makeCertificate({ name: '127.0.0.1', names: ['127.0.0.1'] });
    directory.write('ca.pem', pem);
    const server = createTlsServer({ cert: pem, key }, (_request, response) => response.writeHead(401).end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const endpoint = `github=https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = ['app/b.env', ...ask(), '--verify-endpoint', endpoint];
    const [untrusted, trusted] = await Promise.all([
      directory.scan(args),
      ended(directory.startIn({ NODE_EXTRA_CA_CERTS: directory.at('ca.pem') }, ...args)),
    ]);
    server.closeAllConnections();
    server.close();
    assert.match(untrusted.stdout, /verified {4}unknown: GitHub did not answer: TLS failed \(/);
    assert.match(trusted.stdout, /verified {4}inactive: GitHub rejected it/);
  });

  test('an interrupted scan says so, and asks only about what it does not know yet', async () => {
    const child = directory.start('app', '--json', '--state', 'ended', ...ask(), '--verify-rate', '1');
    onRequest = (count) => {
      if (count === 2) child.kill('SIGINT');
    };
    const first = await ended(child);
    assert.equal(first.code, 130);
    assert.match(first.stderr, /The same command resumes from ended/);
    const [known] = asked;
    onRequest = () => undefined;
    const again = await directory.scan(['app', '--json', '--state', 'ended', ...ask()]);
    assert.equal(asked.filter((secret) => secret === known).length, 1);
    assert.deepEqual(again.json.at(-1)!['verdicts'], { active: 2, inactive: 1, unknown: 1, not_shown: 0 });
  });

  test('a killed scan asks only about what it does not know yet', async () => {
    const child = directory.start('app', '--json', '--state', 'state', ...ask(), '--verify-rate', '1');
    onRequest = (count) => {
      // The first answer is recorded before the second request may leave.
      if (count === 2) child.kill('SIGKILL');
    };
    await once(child, 'exit');
    const [first] = asked;
    assert.equal(asked.length, 2);
    onRequest = () => undefined;
    const again = await directory.scan(['app', '--json', '--state', 'state', ...ask()]);
    assert.equal(again.code, 1);
    assert.equal(asked.filter((secret) => secret === first).length, 1);
    assert.deepEqual(again.json.at(-1)!['verdicts'], { active: 2, inactive: 1, unknown: 1, not_shown: 0 });
  });
});
