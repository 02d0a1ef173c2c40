/** Probes in a process that may open few files: a shortage on this machine must not affect the results. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';

import { ended, type Ended } from '@heddle/test-support/cli/command-process';
import { reconSurroundings, recordsOf } from '../support/command/fixture.ts';
import { MAIN } from '../support/command/process.ts';

const near = reconSurroundings();

function withFiles(count: number, ...args: string[]): Promise<Ended> {
  const command = `ulimit -n ${count} && exec "$0" "$@"`;
  const env = { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'] };
  return ended(spawn('sh', ['-c', command, process.execPath, MAIN, ...args], { cwd: near.directory.path, env }));
}

const HOSTS = 60;
const targets = `127.0.0.1-127.0.0.${HOSTS}`;
const fast = ['--rate', '0', '--host-rate', '0', '--concurrency', '200', '--json'];

test('all TLS endpoints are probed with fewer concurrent connections, and a notice says why', async () => {
  const ran = await withFiles(40, 'tls', targets, '-p', '1-5', ...fast);
  assert.equal(ran.code, 0, ran.stderr);
  const errors = recordsOf(ran).map(({ error }) => error);
  assert.equal(errors.length, HOSTS * 5);
  assert.deepEqual([...new Set(errors)], ['connection refused']);
  assert.match(ran.stderr, /^connections reduced: the process has reached its limit of open files \(ulimit -n\)$/m);
});

test('ports, too', async () => {
  const ran = await withFiles(
    40,
    'tcp',
    '--method',
    'connect',
    '--banner',
    targets,
    '-p',
    '1-5',
    '--all-states',
    ...fast,
  );
  assert.equal(ran.code, 0, ran.stderr);
  const found = recordsOf(ran).map(({ state, reason }) => `${String(state)} ${String(reason)}`);
  assert.equal(found.length, HOSTS * 5);
  assert.deepEqual([...new Set(found)], ['closed refused']);
});
