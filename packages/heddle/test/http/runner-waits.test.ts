/** Callers that wait for runners, in virtual time, with a pool that counts its polls. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import type { HeddleError } from '@heddle/base/errors';
import { RunnerWaits } from '../../src/http/live/runner-waits.ts';
import type { RequestWithRunners } from '@heddle/core/pool/port/store';
import { VirtualClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';

function requestOf(id: string, state: RequestWithRunners['state'] = 'waiting'): RequestWithRunners {
  return {
    ...{
      id,
      state,
      shape_id: 1,
      kept: 0,
      rank: 1,
      tenant: 't',
      source: 'holder',
      run: 'r',
      attempt: null,
      count: 1,
      runners: [],
    },
    ...{ resource_class: 'large', usage_class: 'on-demand', allowed_instance_types: [], cpu: null, memory_mib: null },
    ...{ created_at: 0, granted_at: null, expires_at: null, exhaustion: null, reason: null },
  };
}

/** Answers a poll when the test lets it. */
class SlowPool {
  readonly looks: { ids: readonly string[]; answer: (outcome: RequestWithRunners[] | Error) => void }[] = [];
  readonly rings = new Set<() => void>();

  requests = (ids: readonly string[]): Promise<RequestWithRunners[]> =>
    new Promise((resolve, reject) => {
      const answer = (outcome: RequestWithRunners[] | Error): void =>
        outcome instanceof Error ? reject(outcome) : resolve(outcome);
      this.looks.push({ ids, answer });
    });

  onSettled = (ring: () => void): (() => void) => {
    this.rings.add(ring);
    return () => void this.rings.delete(ring);
  };

  ring(): void {
    for (const ring of this.rings) ring();
  }
}

const never = (): AbortSignal => new AbortController().signal;

describe('callers that wait for runners', () => {
  let clock: VirtualClock;
  let pool: SlowPool;
  let waits: RunnerWaits;

  beforeEach(() => {
    clock = new VirtualClock(0);
    pool = new SlowPool();
    waits = new RunnerWaits(pool, clock);
  });
  const looked = (count: number): Promise<boolean> =>
    eventually(() => pool.looks.length >= count, `${count} looks were begun`);

  test('share one poll at a time, however many they are', async () => {
    const ids = Array.from({ length: 1_000 }, (_, at) => `request ${at}`);
    const answers = ids.map((id) => waits.wait(requestOf(id), 60_000, never()));
    await assert.rejects(
      waits.wait(requestOf('one too many'), 60_000, never()),
      (error: HeddleError) => error.code === 'TOO_MANY_REQUESTS',
    );
    await looked(1);
    pool.looks[0]!.answer([]);
    await looked(2);
    assert.deepEqual(pool.looks[1]!.ids, ids);
    // However many notifications arrive during a poll, one more follows.
    for (let ring = 0; ring < 50; ring += 1) pool.ring();
    pool.looks[1]!.answer(ids.map((id, at) => requestOf(id, at < 500 ? 'granted' : 'waiting')));
    await looked(3);
    assert.deepEqual(pool.looks[2]!.ids, ids.slice(500));
    pool.looks[2]!.answer(ids.slice(500).map((id) => requestOf(id, 'ended')));
    const states = (await Promise.all(answers)).map(({ state }) => state);
    assert.deepEqual([states.indexOf('ended'), states.lastIndexOf('granted')], [500, 499]);
    assert.deepEqual([pool.looks.length, pool.rings.size], [3, 0]);
  });

  test('poll again after a while without notifications, and after a failed poll', async () => {
    const answer = waits.wait(requestOf('a'), 60_000, never());
    await looked(1);
    pool.looks[0]!.answer(new Error('the database is away'));
    await clock.advance(5_000);
    await looked(2);
    pool.looks[1]!.answer([requestOf('a', 'granted')]);
    assert.equal((await answer).state, 'granted');
  });

  test('get the last known state when their wait times out, even if it cannot be read', async () => {
    const seen = waits.wait(requestOf('a'), 1_000, never());
    const unseen = waits.wait(requestOf('b'), 2_000, never());
    await looked(1);
    pool.looks[0]!.answer([]);
    await looked(2);
    pool.looks[1]!.answer([]);
    await clock.advance(1_000);
    await looked(3);
    pool.looks[2]!.answer([{ ...requestOf('a'), exhaustion: 'local' }]);
    assert.equal((await seen).exhaustion, 'local');
    await clock.advance(1_000);
    await looked(4);
    pool.looks[3]!.answer(new Error('the database is away'));
    assert.equal((await unseen).state, 'waiting');
  });

  test('are released when they disconnect, and when the server stops', async () => {
    const hangsUp = new AbortController();
    const gone = waits.wait(requestOf('a'), 60_000, hangsUp.signal);
    const stays = waits.wait(requestOf('b'), 60_000, never());
    hangsUp.abort();
    assert.equal((await gone).id, 'a');
    waits.close();
    assert.equal((await stays).id, 'b');
    assert.equal(pool.rings.size, 0);
    assert.equal((await waits.wait(requestOf('c'), 60_000, never())).id, 'c');
  });
});
