import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';

import { HeddleError } from '../src/errors.ts';
import { VirtualClock } from '../src/clock.ts';
import { createLogger, silentLogger } from '../src/log.ts';
import { Loop, type LoopOptions } from '../src/loop.ts';

function loopOf(clock: VirtualClock, runOnce: LoopOptions['runOnce'], more: Partial<LoopOptions> = {}): Loop {
  return new Loop({ name: 'test', intervalMs: 1_000, clock, log: silentLogger, runOnce, ...more });
}

function gate(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { opened: promise.then(() => undefined), open: () => resolve(undefined) };
}

test('a loop runs at once, then after each interval', async () => {
  const clock = new VirtualClock();
  const start = clock.now();
  const ranAt: number[] = [];
  const loop = loopOf(clock, () => {
    ranAt.push(clock.now() - start);
    return Promise.resolve('idle');
  });
  loop.start();
  loop.start();
  await clock.advance(2_500);
  await loop.stop();
  await clock.advance(10_000);
  assert.deepEqual(ranAt, [0, 1_000, 2_000]);
  assert.equal(clock.timers, 0);
});

test('again runs without waiting, and leaves the event loop room in which to stop it', async () => {
  const clock = new VirtualClock();
  let passes = 0;
  const loop = loopOf(clock, () => {
    passes += 1;
    return passes < 100_000 ? Promise.resolve('again') : Promise.reject(new Error('nothing else had a turn'));
  });
  loop.start();
  for (let turn = 0; turn < 50; turn += 1) await eventLoopTurn();
  await loop.stop();
  assert.ok(passes >= 25 && passes < 1_000, `${passes} passes`);
  const stoppedAt = passes;
  await clock.advance(5_000);
  assert.equal(passes, stoppedAt);
});

test('a wake ends the wait of an idle loop; a wake during a pass causes one more right after it', async () => {
  const clock = new VirtualClock();
  let passes = 0;
  let hold = gate();
  hold.open();
  const loop = loopOf(clock, async () => {
    passes += 1;
    await hold.opened;
    return 'idle';
  });
  loop.start();
  await clock.advance(0);
  assert.equal(passes, 1);
  hold = gate();
  loop.wake();
  await clock.advance(0);
  assert.equal(passes, 2);
  loop.wake();
  loop.wake();
  hold.open();
  await clock.advance(0);
  assert.equal(passes, 3);
  await clock.advance(999);
  assert.equal(passes, 3);
  await loop.stop();
});

test('errors back off from 100 ms to at most 30 s, wakes do not shorten that, and success resets it', async () => {
  const clock = new VirtualClock();
  let last = clock.now();
  const waits: number[] = [];
  const loop = loopOf(
    clock,
    () => {
      waits.push(clock.now() - last);
      last = clock.now();
      return waits.length === 12 ? Promise.resolve('idle') : Promise.reject(new Error('down'));
    },
    { intervalMs: 250 },
  );
  loop.start();
  await clock.advance(50);
  loop.wake();
  await clock.advance(111_600);
  await loop.stop();
  const growing = [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000];
  assert.deepEqual(waits, [0, ...growing, 250, 100, 200]);
});

test('an error that passes by itself backs off to 1 s only, and is logged once', async () => {
  const clock = new VirtualClock();
  const levels: unknown[] = [];
  const write = (line: string): void => void levels.push((JSON.parse(line) as { level: string }).level);
  const log = createLogger({ level: 'debug', destination: { write } });
  let passes = 0;
  const runOnce = (): Promise<'idle'> => {
    passes += 1;
    return Promise.reject(new HeddleError('DATABASE_UNAVAILABLE'));
  };
  const loop = loopOf(clock, runOnce, { log });
  loop.start();
  await clock.advance(10_500);
  await loop.stop();
  // At 0, 100, 300, 700, 1,500 ms, then each second.
  assert.equal(passes, 14);
  assert.deepEqual(new Set(levels.slice(1)), new Set(['debug']));
  assert.equal(levels[0], 'error');
});

test('an error is logged with the name of the loop, an error of a stopped pass is not', async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } });
  const outcomes: string[] = [];
  const loop = loopOf(
    clock,
    async (signal) => {
      if (lines.length === 0) throw new Error('no such table');
      await clock.sleep(60_000, signal);
      signal.throwIfAborted();
      return 'idle';
    },
    { log, onIteration: (_durationMs, outcome) => void outcomes.push(outcome) },
  );
  loop.start();
  await clock.advance(1_000);
  await loop.stop();
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /"level":"error".*"loop":"test".*no such table/);
  assert.deepEqual(outcomes, ['error', 'error']);
});

test('stop aborts the signal, resolves after the pass under way, and may be called again and before a start', async () => {
  const clock = new VirtualClock();
  const hold = gate();
  let aborted = false;
  let ended = false;
  const loop = loopOf(clock, async (signal) => {
    signal.addEventListener('abort', () => (aborted = true));
    await hold.opened;
    ended = true;
    return 'again';
  });
  await loop.stop();
  loop.start();
  await clock.advance(0);
  const first = loop.stop();
  const second = loop.stop();
  let resolved = false;
  void first.then(() => (resolved = true));
  await clock.advance(0);
  assert.deepEqual([aborted, ended, resolved], [true, false, false]);
  hold.open();
  await Promise.all([first, second, loop.stop()]);
  assert.equal(ended, true);
});

test('a loop started again while its last pass still ends never runs two passes at once', async () => {
  const clock = new VirtualClock();
  let running = 0;
  let runningMax = 0;
  let passes = 0;
  const hold = gate();
  const loop = loopOf(clock, async () => {
    passes += 1;
    running += 1;
    runningMax = Math.max(runningMax, running);
    await hold.opened;
    running -= 1;
    return 'idle';
  });
  loop.start();
  await clock.advance(0);
  void loop.stop();
  loop.start();
  await clock.advance(0);
  assert.equal(passes, 1);
  hold.open();
  await clock.advance(0);
  assert.equal(passes, 2);
  assert.equal(runningMax, 1);
  await loop.stop();
});

test('the duration of each pass is reported', async () => {
  const clock = new VirtualClock();
  const told: [number, string][] = [];
  const loop = loopOf(
    clock,
    async () => {
      await clock.sleep(70);
      return 'idle';
    },
    { onIteration: (durationMs, outcome) => void told.push([durationMs, outcome]) },
  );
  loop.start();
  await clock.advance(500);
  await loop.stop();
  assert.deepEqual(told, [[70, 'idle']]);
});
