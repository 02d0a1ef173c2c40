import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { PostgresTakes, type PostgresTakesOptions, type Share } from '../../src/queue/postgres-takes.ts';
import { Progress } from '../../src/queue/progress.ts';
import type { MessageRow, Taken } from '../../src/store/queue-messages.ts';

type Asked = Parameters<PostgresTakesOptions['take']>[0];

/** A queue of this many messages, whose statements end when the test says so. */
function queueOf(count: number) {
  const asked: Asked[] = [];
  const held: (() => void)[] = [];
  let next = 0;
  const take = async (one: Asked): Promise<Taken> => {
    asked.push(one);
    await new Promise<void>((resolve) => held.push(resolve));
    const rows = Array.from({ length: Math.min(one.max, count - next) }, (): MessageRow => {
      next += 1;
      return { id: `m${next}`, receipt: next, receive_count: 1, sent_at: next, body: '', mark: 1, seen_at: 1 };
    });
    return { rows, died: 0, next_due_in_ms: null, looked_until: 1 };
  };
  const takes = new PostgresTakes({ progress: new Progress(systemClock), take });
  const takeMax = (max: number, options: { visibility_ms?: number; signal?: AbortSignal } = {}) =>
    takes.take('work', { max, wait_ms: 0, visibility_ms: 1_000, ...options });
  /** Ends the statement under way, once there is one. */
  const end = async (): Promise<void> => {
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    held.shift()!();
  };
  return { takes, asked, takeMax, end };
}

function idsOf(share: Share | null): string[] | null {
  return share === null ? null : share.rows.map(({ id }) => id);
}

describe('takes from a queue in PostgreSQL', () => {
  it('share the next statement where they arrive while one is under way, each up to its maximum', async () => {
    const { asked, takeMax, end } = queueOf(6);
    const first = takeMax(2);
    await new Promise((resolve) => setImmediate(resolve));
    const others = [takeMax(1), takeMax(2)];
    await end();
    await end();
    assert.deepEqual(idsOf(await first), ['m1', 'm2']);
    assert.deepEqual((await Promise.all(others)).map(idsOf), [['m3'], ['m4', 'm5']]);
    assert.deepEqual(
      asked.map(({ max }) => max),
      [2, 3],
    );
  });

  it('return null where receivers before took all: the queue may have more', async () => {
    const { takeMax, end } = queueOf(2);
    const shares = [takeMax(2), takeMax(2)];
    await end();
    assert.deepEqual((await Promise.all(shares)).map(idsOf), [['m1', 'm2'], null]);
  });

  it('of one description are takes of their own', async () => {
    const { takes, end } = queueOf(2);
    const receive = { max: 1, wait_ms: 0, visibility_ms: 1_000 };
    const shares = [takes.take('work', receive), takes.take('work', receive), takes.take('work', receive)];
    await end();
    assert.deepEqual((await Promise.all(shares)).map(idsOf), [['m1'], ['m2'], null]);
  });

  it('all find a queue empty where the statement found nothing', async () => {
    const { takeMax, end } = queueOf(0);
    const shares = [takeMax(2), takeMax(2)];
    await end();
    assert.deepEqual((await Promise.all(shares)).map(idsOf), [[], []]);
  });

  it('hide messages for as long as each receiver asked', async () => {
    const { asked, takeMax, end } = queueOf(4);
    const shares = [takeMax(1), takeMax(1, { visibility_ms: 5_000 })];
    await end();
    await end();
    assert.deepEqual((await Promise.all(shares)).map(idsOf), [['m1'], ['m2']]);
    assert.deepEqual(
      asked.map(({ visibilityMs }) => visibilityMs),
      [1_000, 5_000],
    );
  });

  it('take nothing for a receiver that was aborted while it waited', async () => {
    const { asked, takeMax, end } = queueOf(4);
    const stop = new AbortController();
    const first = takeMax(1);
    await new Promise((resolve) => setImmediate(resolve));
    const others = [takeMax(1, { signal: stop.signal }), takeMax(1)];
    stop.abort();
    await end();
    await end();
    assert.deepEqual(idsOf(await first), ['m1']);
    assert.deepEqual((await Promise.all(others)).map(idsOf), [null, ['m2']]);
    assert.deepEqual(
      asked.map(({ max }) => max),
      [1, 1],
    );
  });

  it('of many messages have statements of their own', async () => {
    const { asked, takeMax, end } = queueOf(300);
    const shares = [takeMax(101), takeMax(101)];
    await end();
    await end();
    assert.deepEqual(
      (await Promise.all(shares)).map((share) => share?.rows.length),
      [101, 101],
    );
    assert.equal(asked.length, 2);
  });
});
