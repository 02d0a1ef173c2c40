import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { VirtualClock } from '../src/clock.ts';
import { retrying } from '../src/retry.ts';
import { systemRandom } from '../src/random.ts';

const POLICY = { base_ms: 100, factor: 2, max_ms: 1000, jitter: 0 };

function setUp(fails: number) {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const startedAt: number[] = [];
  const work = (): Promise<string> => {
    startedAt.push(clock.monotonic());
    return startedAt.length <= fails ? Promise.reject(new Error(`failure ${startedAt.length}`)) : Promise.resolve('ok');
  };
  const options = { policy: POLICY, clock, random: systemRandom, signal: abort.signal, mayRetry: () => true };
  return { clock, abort, startedAt, work, options };
}

describe('work that is retried', () => {
  test('starts again after the pauses of its policy', async () => {
    const { clock, startedAt, work, options } = setUp(2);
    const done = retrying(work, options);
    await clock.advance(100);
    await clock.advance(200);
    assert.equal(await done, 'ok');
    assert.deepEqual(
      startedAt.map((at) => at - startedAt[0]!),
      [0, 100, 300],
    );
  });

  test('fails with the error that may not be retried', async () => {
    const { clock, work, options } = setUp(5);
    const done = retrying(work, { ...options, mayRetry: (_error, retry) => retry < 2 });
    const failed = assert.rejects(done, /failure 2/);
    await clock.advance(100);
    await failed;
  });

  test('fails with its last error when the signal aborts in a pause', async () => {
    const { abort, startedAt, work, options } = setUp(5);
    const failed = assert.rejects(retrying(work, options), /failure 1/);
    await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    await failed;
    assert.equal(startedAt.length, 1);
  });
});
