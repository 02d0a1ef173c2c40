import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { COMMAND_ENVIRONMENT, ended, type Ended } from '@heddle/test-support/cli/command-process';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { CATALOG_OPTIONS } from '@heddle/test-support/modules/catalog';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

let server: Heddle;

before(async () => {
  server = await startHeddle();
});

after(() => server.stop());

/** Runs the command as a separate process with only these variables set beside PATH. */
function run(args: readonly string[], env: Record<string, string> = {}, stdin = ''): Promise<Ended> {
  return ended(
    spawn(process.execPath, [...CATALOG_OPTIONS, MAIN, ...args], { env: { ...COMMAND_ENVIRONMENT, ...env } }),
    stdin,
  );
}

test('the process submits what it reads and exits with 0; HEDDLE_URL names the server', async () => {
  const ran = await run(['batch', 'submit', '-', '--json'], { HEDDLE_URL: server.url }, '[{"name":"a","kind":"x"}]');
  assert.equal(ran.code, 0, ran.stderr);
  const { batch_id } = JSON.parse(ran.stdout) as { batch_id: string };
  const stopped = await run(['batch', 'cancel', batch_id, '--url', server.url, '--json']);
  assert.deepEqual([stopped.code, JSON.parse(stopped.stdout)], [0, { batch_id, canceled: 1 }]);
  assert.equal((await run(['batch', 'watch', batch_id, '--url', server.url])).code, 1);
});

test('its exit codes report what went wrong', async () => {
  const [usage, missing, unreachable] = await Promise.all([
    run(['task', 'get', 'nonsense']),
    run(['task', 'get', '01900000-0000-7000-8000-000000000000'], { HEDDLE_URL: server.url }),
    run(['task', 'list'], { HEDDLE_URL: 'http://127.0.0.1:9' }),
  ]);
  assert.deepEqual([usage.code, missing.code, unreachable.code], [2, 3, 4]);
  for (const { stdout, stderr } of [usage, missing, unreachable]) {
    assert.equal(stdout, '');
    assert.doesNotMatch(stderr, /\n +at /, 'no stack');
  }
});

test('failures of every command are one document with --json, on standard error', async () => {
  const cases: [args: string[], code: string, exit: number, error: RegExp][] = [
    [['task', 'get', 'nonsense', '--json'], 'USAGE', 2, /must be a UUID/],
    [['task', 'lsit', '--json'], 'USAGE', 2, /unknown command 'lsit'\n\(Did you mean list\?\)/],
    [['config', '--port', 'abc', '--json'], 'USAGE', 2, /^PORT: must be a whole number/],
    [['token', 'create', '--name', ' ', '--json'], 'USAGE', 2, /^--name: must be 1 to 255 characters/],
    [['token', 'list', '--json', '--data-dir', '/nonexistent'], 'FAILED', 1, /no database in \/nonexistent/],
  ];
  await Promise.all(
    cases.map(async ([args, code, exit, error]) => {
      const ran = await run(args);
      assert.deepEqual([ran.code, ran.stdout], [exit, ''], ran.stderr);
      const report = JSON.parse(ran.stderr) as Record<string, unknown>;
      assert.deepEqual(Object.keys(report), ['code', 'error', 'details', 'hint', 'exit_code']);
      assert.deepEqual([report['code'], report['exit_code']], [code, exit]);
      assert.match(String(report['error']), error);
    }),
  );
  const plain = await run(['task', 'get', 'nonsense']);
  assert.match(plain.stderr, /^error\[USAGE\]: .*must be a UUID/);
});

test('the probes of @heddle/recon are below `recon`', async () => {
  const [plan, help] = await Promise.all([
    run(['recon', 'tcp', '127.0.0.1', '--ports', '80', '--dry-run', '--json']),
    run(['recon', 'tls', '--help']),
  ]);
  assert.deepEqual([plan.code, plan.json[0]!['type'], plan.json[0]!['endpoints']], [0, 'plan', 1]);
  assert.match(help.stdout, /^ {2}heddle recon tls 10\.0\.0\.0\/24 /m);
});
