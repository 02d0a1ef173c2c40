import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/runtime/clock.ts';
import { StateFile } from '../../src/scan/coordinator/state-file.ts';
import { startScan } from '../../src/scan/scan.ts';
import { optionsFor, places, scan, temporaryFolder, write } from './scan-fixture.ts';

/** What a process writes that holds the state file, on the line of its lock. */
function markOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!}\n`;
}

test('a scan that waits for data of a pipe ends when it is stopped', async (t) => {
  const folder = temporaryFolder(t);
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const stopping = new AbortController();
  const workerEntry = new URL('./odd-worker.ts', import.meta.url);
  // It is told of the opening through the file that this one writes.
  process.env['ODD_WORKER_LOG'] = join(folder, 'opened');
  t.after(() => delete process.env['ODD_WORKER_LOG']);
  const running = scan(optionsFor(pipe), { signal: stopping.signal, workerEntry });
  while (!existsSync(join(folder, 'opened'))) await new Promise(setImmediate);
  stopping.abort();
  const { summary } = await running;
  assert.equal(summary.outcome, 'aborted');
});

test('the end of a thread that read a pipe closes nothing of what was opened since', async (t) => {
  const folder = temporaryFolder(t);
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const descriptors: number[] = [];
  t.after(() => descriptors.forEach((descriptor) => closeSync(descriptor)));
  const running = startScan(
    optionsFor(pipe, { threads: 1 }),
    {
      // The thread has closed the pipe by now, so that its number is given out again.
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

test('a state file is of one scan at a time; what a killed one left behind is taken over', async (t) => {
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
  assert.equal(readFileSync(lock, 'utf8'), mark, 'it is left to its owner');

  // The same number, but started at another time; and one that has ended.
  writeFileSync(lock, `${other.pid!} 1\n`);
  assert.deepEqual(places((await scan(optionsFor(tree), { statePath })).findings, tree), ['a:MADEUP-000001']);
  writeFileSync(lock, mark);
  other.kill();
  await once(other, 'exit');
  assert.equal((await scan(optionsFor(tree), { statePath })).summary.outcome, 'complete');
  assert.equal(existsSync(lock), false);
});

test('a state file that is none, or in no directory, is refused with a sentence', async (t) => {
  const folder = temporaryFolder(t);
  await assert.rejects(
    scan(optionsFor(folder), { statePath: '/dev/null' }),
    /the state file \/dev\/null cannot be used/,
  );
  const nowhere = join(folder, 'none', 'state');
  await assert.rejects(scan(optionsFor(folder), { statePath: nowhere }), { code: 'VALIDATION_FAILED' });
});
