import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Clock, systemClock } from '@heddle/base/clock';
import type { ScanEnvironment } from '../src/scan.ts';
import { optionsFor, places, scan, temporaryFolder, write } from './support/scan-fixture.ts';

const ODD_WORKER = new URL('./support/odd-worker.ts', import.meta.url);
const NO_WORKER = new URL('./support/no-such-worker.ts', import.meta.url);
const MIB = 1024 * 1024;

/** Only work starts threads, never time. */
const untimed: Clock = { ...systemClock, after: () => () => undefined };

function own(changes: Partial<ScanEnvironment>): Partial<ScanEnvironment> {
  return { usesOwnThread: true, workBytesMin: 2 ** 40, clock: untimed, ...changes };
}

test('a small tree needs no thread', async (t) => {
  const folder = temporaryFolder(t);
  for (let number = 10; number < 60; number += 1) write(join(folder, `f${number}`), `MADEUP-0000${number}\n`);
  const { summary, findings, problems } = await scan(optionsFor(folder), own({ workerEntry: NO_WORKER }));
  assert.equal(summary.outcome, 'complete');
  assert.deepEqual(problems, []);
  assert.equal(summary.metrics.objects_completed, 50);
  assert.deepEqual(places(findings, folder).length, 50);
});

test('a large file is left to a thread, and small ones do not wait for it', async (t) => {
  const folder = temporaryFolder(t);
  write(join(folder, 'a'), 'MADEUP-000001\n');
  write(join(folder, 'b-crash'), Buffer.alloc(9 * MIB, 0x20));
  write(join(folder, 'c-crash'), 'MADEUP-000003\n');
  const { findings, problems } = await scan(
    optionsFor(folder, {
      threads: 1,
      frontierCapacity: 2,
      archives: { ...optionsFor(folder).archives, enabled: false },
    }),
    own({ workerEntry: ODD_WORKER }),
  );
  // The odd thread ends at each object of this name; the small one may be scanned before that thread is ready.
  assert.ok(problems.some(({ path }) => path.endsWith('b-crash')));
  assert.equal(places(findings, folder)[0], 'a:MADEUP-000001');
});

test('threads take over what was not begun, in any number, and find the same', async (t) => {
  const folder = temporaryFolder(t);
  for (let number = 100; number < 500; number += 1)
    write(join(folder, `f${number}`), `${'x'.repeat(number)}\nMADEUP-000${number}\n`.repeat(20));
  // A busy machine takes time from the searches.
  const options = optionsFor(folder, { ruleTimeoutMs: 600_000 });
  const expected = await scan(options);
  // Starts the first thread at once, and the others as soon as it is ready.
  const hasty: Clock = {
    ...systemClock,
    after: (ms, run) => systemClock.after(ms === 250 ? ms : 0, run),
  };
  for (const threads of [1, 3]) {
    const found = await scan({ ...options, threads }, own({ clock: hasty }));
    assert.deepEqual(found.problems, []);
    assert.deepEqual(places(found.findings, folder), places(expected.findings, folder));
    assert.equal(found.summary.outcome, 'complete');
    assert.deepEqual(found.summary.metrics.objects_completed, 400);
  }
});

test('a scan in the own thread can be stopped', async (t) => {
  const folder = temporaryFolder(t);
  for (let number = 10; number < 60; number += 1) write(join(folder, `f${number}`), `MADEUP-0000${number}\n`);
  const stopping = new AbortController();
  stopping.abort();
  const { summary } = await scan(optionsFor(folder), own({ workerEntry: NO_WORKER, signal: stopping.signal }));
  assert.equal(summary.outcome, 'aborted');
});
