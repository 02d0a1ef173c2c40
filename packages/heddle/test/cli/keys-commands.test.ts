import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { deriveClientKey } from '@heddle/executor/protocol/mac';
import { readClientCredentials } from '@heddle/executor/security/client-credentials';
import { readKeyRing } from '@heddle/executor/security/key-ring-file';
import { COMMAND_ENVIRONMENT } from '@heddle/test-support/cli/command-process';
import { CATALOG_OPTIONS } from '@heddle/test-support/modules/catalog';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const directory = mkdtempSync(join(tmpdir(), 'heddle-keys-'));

after(() => rm(directory, { recursive: true }));

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

async function run(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [...CATALOG_OPTIONS, MAIN, ...args], {
    env: { ...COMMAND_ENVIRONMENT, ...env },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

test('generate, rotate, client and list: matching files, readable only by their owner', async () => {
  const out = join(directory, 'site');
  const made = await run(['keys', 'generate', '--out', out, '--client', 'web', '--client', 'team/ci', '--json']);
  assert.equal(made.code, 0, made.stderr);
  assert.deepEqual(readdirSync(out).sort(), ['client-team_ci.json', 'client-web.json', 'keys.json']);
  for (const name of readdirSync(out)) assert.equal(statSync(join(out, name)).mode & 0o777, 0o600);
  assert.equal(statSync(out).mode & 0o777, 0o700);
  const [ring, web] = [join(out, 'keys.json'), join(out, 'client-web.json')];
  const [first] = await readKeyRing(ring);
  const credentials = await readClientCredentials(web);
  assert.equal(credentials.audience, 'heddle-executor');
  assert.deepEqual(credentials.keys, [{ id: first!.id, secret: base64url(deriveClientKey(first!.secret, 'web')) }]);
  assert.ok(!made.stdout.includes(base64url(first!.secret)) && !made.stdout.includes(credentials.keys[0]!.secret));

  const rotated = await run(['keys', 'rotate', '--ring', ring, '--grace', '2h', '--client-file', web]);
  assert.equal(rotated.code, 0, rotated.stderr);
  const [second, old] = await readKeyRing(ring);
  assert.deepEqual([second!.state, old!.state, old!.id], ['active', 'accepted', first!.id]);
  const { keys } = await readClientCredentials(web);
  assert.deepEqual(
    keys.map(({ id }) => id),
    [second!.id, first!.id],
  );

  const printed = await run(['keys', 'client', 'api', '--audience', 'gpu'], { HEDDLE_EXECUTOR_KEYS: ring });
  const api = JSON.parse(printed.stdout) as { audience: string; keys: { id: string; secret: string }[] };
  assert.equal(api.audience, 'gpu');
  assert.deepEqual(api.keys, [{ id: second!.id, secret: base64url(deriveClientKey(second!.secret, 'api')) }]);

  const listed = await run(['keys', 'list', '--ring', ring, '--json']);
  const rows = JSON.parse(listed.stdout) as { id: string; state: string; retires_at: string | null }[];
  assert.deepEqual(
    rows.map(({ id, state }) => [id, state]),
    [
      [second!.id, 'active'],
      [first!.id, 'accepted'],
    ],
  );
  assert.ok(!listed.stdout.includes('secret'));
});

test('a client of a single secret key derives from it, under the id that the executor uses', async () => {
  const secret = base64url(Buffer.alloc(48, 5));
  const out = join(directory, 'single.json');
  const ran = await run(['keys', 'client', 'web', '--out', out], { HEDDLE_EXECUTOR_SECRET_KEY: secret });
  assert.equal(ran.code, 0, ran.stderr);
  const { keys } = await readClientCredentials(out);
  assert.deepEqual(keys, [{ id: 'default', secret: base64url(deriveClientKey(Buffer.alloc(48, 5), 'web')) }]);
});

test('existing files are not overwritten, and unusable ones are named', async () => {
  const out = join(directory, 'refusals');
  assert.equal((await run(['keys', 'generate', '--out', out, '--client', 'web'])).code, 0);
  const ring = join(out, 'keys.json');
  const before = readFileSync(ring, 'utf8');
  const again = await run(['keys', 'generate', '--out', out, '--client', 'new']);
  assert.deepEqual([again.code, /keys\.json already exists/.test(again.stderr)], [2, true]);
  assert.equal(existsSync(join(out, 'client-new.json')), false, 'nothing is half done');

  const foreign = await run(['keys', 'generate', '--out', join(directory, 'other'), '--client', 'web']);
  assert.equal(foreign.code, 0);
  const theirs = join(directory, 'other', 'client-web.json');
  const mixed = await run(['keys', 'rotate', '--ring', ring, '--client-file', theirs]);
  assert.deepEqual([mixed.code, /has no key of this ring; nothing changed/.test(mixed.stderr)], [2, true]);
  assert.equal(readFileSync(ring, 'utf8'), before);

  const [name, grace, none] = await Promise.all([
    run(['keys', 'client', 'a b', '--ring', ring]),
    run(['keys', 'rotate', '--ring', ring, '--grace', 'soon']),
    run(['keys', 'list']),
  ]);
  assert.deepEqual([name.code, grace.code, none.code], [2, 2, 2]);
  assert.match(none.stderr, /HEDDLE_EXECUTOR_KEYS/);
  chmodSync(ring, 0o640);
  const open = await run(['keys', 'list', '--ring', ring]);
  assert.deepEqual([open.code, /chmod 600/.test(open.stderr)], [1, true]);
  for (const { stderr } of [again, mixed, name, grace, none, open]) assert.doesNotMatch(stderr, /\n +at /, 'no stack');
  assert.deepEqual(
    readdirSync(out).filter((file) => file.endsWith('.tmp')),
    [],
  );
});

test('certs dev prints what it created, and exits with 2 for an invalid name', async () => {
  const out = join(directory, 'certs');
  const made = await run(['certs', 'dev', '--out', out, '--client', 'web', '--host', 'executor.example']);
  assert.equal(made.code, 0, made.stderr);
  assert.match(
    made.stdout,
    /authority \(made\).*ca\.pem\nserver \(executor\.example\).*server\.pem.*\nweb: .*client-web\.pem/,
  );
  const again = await run(['certs', 'dev', '--out', out, '--json']);
  assert.equal((JSON.parse(again.stdout) as { authority: string }).authority, 'kept');
  assert.equal((await run(['certs', 'dev', '--out', out, '--host', 'a b'])).code, 2);
});
