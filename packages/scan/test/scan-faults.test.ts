import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@heddle/base/clock';
import { StateFile } from '../src/coordinator/state-file.ts';
import { startScan } from '../src/scan.ts';
import { optionsFor, places, scan, temporaryFolder, write } from './support/scan-fixture.ts';

/** Content of a lock file held by a process. */
function markOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!}\n`;
}

test('a scan that waits for data of a pipe ends when it is stopped', async (t) => {
  const folder = temporaryFolder(t);
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const stopping = new AbortController();
  const workerEntry = new URL('./support/odd-worker.ts', import.meta.url);
  // The worker reports the opening through the file written here.
  process.env['ODD_WORKER_LOG'] = join(folder, 'opened');
  t.after(() => delete process.env['ODD_WORKER_LOG']);
  const running = scan(optionsFor(pipe), { signal: stopping.signal, workerEntry });
  while (!existsSync(join(folder, 'opened'))) await new Promise(setImmediate);
  stopping.abort();
  const { summary } = await running;
  assert.equal(summary.outcome, 'aborted');
});

test('the end of a thread that read a pipe closes no descriptor opened since', async (t) => {
  const folder = temporaryFolder(t);
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const descriptors: number[] = [];
  t.after(() => descriptors.forEach((descriptor) => closeSync(descriptor)));
  const running = startScan(
    optionsFor(pipe, { threads: 1 }),
    {
      // The thread has closed the pipe by now, so its descriptor number is reused.
      onFinding: () => {
        for (let count = 0; count < 50; count += 1) descriptors.push(openSync(folder, 'r'));
      },
      onProblem: ({ message }) => assert.fail(message),
    },
    { clock: systemClock },
  );
  await Promise.all([running, writeFile(pipe, 'MADEUP-000001\n')]);
  assert.equal(descriptors.length, 50);
  for (const descriptor of descriptors) assert.ok(fstatSync(descriptor).isDirectory());
});

test("a state file is used by one scan at a time; a killed scan's lock is taken over", async (t) => {
  const folder = temporaryFolder(t);
  const tree = join(folder, 'tree');
  write(join(tree, 'a'), 'MADEUP-000001');
  const statePath = join(folder, 'state');
  const lock = `${statePath}.lock`;
  const first = new StateFile(statePath);
  await assert.rejects(scan(optionsFor(tree), { statePath }), /another scan \(process \d+\) is using the state file/);
  first.close();
  assert.equal(existsSync(lock), false);

  const other = spawn('sleep', ['60']);
  t.after(() => other.kill());
  await once(other, 'spawn');
  const mark = markOf(other.pid!);
  writeFileSync(lock, mark);
  await assert.rejects(scan(optionsFor(tree), { statePath }), new RegExp(`process ${other.pid!}`));
  assert.equal(readFileSync(lock, 'utf8'), mark, 'the owner keeps it');

  // The same process id with another start time; and an exited process.
  writeFileSync(lock, `${other.pid!} 1\n`);
  assert.deepEqual(places((await scan(optionsFor(tree), { statePath })).findings, tree), ['a:MADEUP-000001']);
  writeFileSync(lock, mark);
  other.kill();
  await once(other, 'exit');
  assert.equal((await scan(optionsFor(tree), { statePath })).summary.outcome, 'complete');
  assert.equal(existsSync(lock), false);
});

test('an invalid state file, or one without a directory, is rejected with a message', async (t) => {
  const folder = temporaryFolder(t);
  await assert.rejects(
    scan(optionsFor(folder), { statePath: '/dev/null' }),
    /the state file \/dev\/null cannot be used/,
  );
  const nowhere = join(folder, 'none', 'state');
  await assert.rejects(scan(optionsFor(folder), { statePath: nowhere }), { code: 'VALIDATION_FAILED' });
});
