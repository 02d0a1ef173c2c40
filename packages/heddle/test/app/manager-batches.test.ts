import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { ManagerBatches } from '../../src/app/manager-batches.ts';
import { VirtualClock } from '@heddle/base/clock';
import type { ReceivedMessage } from '@heddle/core/queue/port';

interface Batch {
  bodies: string[];
  end: PromiseWithResolvers<undefined>;
}

/**
 * Batches of at most five messages or a hundred characters, two running at once, each until the test ends it; the second
 * one has two messages, or waited 20 ms.
 */
function newBatches(): { batches: ManagerBatches; begun: Batch[]; clock: VirtualClock } {
  const begun: Batch[] = [];
  const clock = new VirtualClock();
  const batches = new ManagerBatches({
    underWayMax: 2,
    besideMin: 2,
    companyWaitMs: 20,
    clock,
    messagesMax: 5,
    charactersMax: 100,
    handle: (messages) => {
      const end = Promise.withResolvers<undefined>();
      begun.push({ bodies: messages.map(({ body }) => body), end });
      return end.promise;
    },
  });
  return { batches, begun, clock };
}

function set(...bodies: string[]): ReceivedMessage[] {
  return bodies.map((body) => ({ id: body, body, receipt: body, receive_count: 1, sent_at: 0 }));
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  // Ten promise ticks are more than any response here needs.
  const later = async (): Promise<false> => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    return false;
  };
  return Promise.race([promise.then(() => true as const), later()]);
}

describe('batches of the manager', () => {
  it('starts a set at once, one beside it if enough messages wait, and combines the others', async () => {
    const { batches, begun } = newBatches();
    const ends = ['a', 'b', 'c', 'd', 'e', 'f'].map((body) => batches.add(set(body)));
    assert.deepEqual(
      begun.map(({ bodies }) => bodies),
      [['a'], ['b', 'c']],
    );
    begun[0]!.end.resolve(undefined);
    await ends[0];
    assert.deepEqual(begun[2]!.bodies, ['d', 'e', 'f']);
    begun[2]!.end.resolve(undefined);
    await Promise.all(ends.slice(3));
    begun[1]!.end.resolve(undefined);
    await batches.drain();
    void batches.add(set('g'));
    assert.deepEqual(begun[3]!.bodies, ['g']);
  });

  it('starts a set beside a long batch when it has waited, and not beyond the maximum', async () => {
    const { batches, begun, clock } = newBatches();
    void batches.add(set('long'));
    void batches.add(set('a'));
    await clock.advance(19);
    assert.equal(begun.length, 1);
    await clock.advance(1);
    assert.deepEqual(begun[1]!.bodies, ['a']);
    void batches.add(set('b'));
    await clock.advance(100);
    assert.equal(begun.length, 2);
    begun[1]!.end.resolve(undefined);
    await isSettled(new Promise(() => undefined));
    assert.deepEqual(begun[2]!.bodies, ['b']);
    assert.equal(clock.timers, 0);
  });

  it('splits no set, and combines none beyond the limits of a batch', async () => {
    const { batches, begun } = newBatches();
    const long = 'x'.repeat(60);
    for (const bodies of [['1'], ['2'], ['a', 'b', 'c'], ['d', 'e', 'f'], [long], [long], 'ghijklm'.split('')]) {
      void batches.add(set(...bodies));
    }
    for (let at = 0; at < 5; at += 1) {
      begun[at]!.end.resolve(undefined);
      await isSettled(new Promise(() => undefined));
    }
    assert.deepEqual(
      begun.map(({ bodies }) => bodies),
      [['1'], ['2', 'a', 'b', 'c'], ['d', 'e', 'f', long], [long], 'ghijklm'.split('')],
    );
    await batches.drain();
  });

  it('has capacity until the next batch is full', async () => {
    const { batches, begun } = newBatches();
    void batches.add(set('1'));
    void batches.add(set('2', '3'));
    void batches.add(set('a', 'b', 'c', 'd'));
    assert.ok(await isSettled(batches.room()));
    void batches.add(set('e'));
    const room = batches.room();
    assert.ok(!(await isSettled(room)));
    begun[0]!.end.resolve(undefined);
    await room;
    assert.deepEqual(begun[2]!.bodies, ['a', 'b', 'c', 'd', 'e']);
  });

  it('reports the failure of a batch to all its sets, and continues with the next', async () => {
    const { batches, begun } = newBatches();
    const failing = assert.rejects(batches.add(set('1')), /the database is away/);
    const other = batches.add(set('2', '3'));
    const next = batches.add(set('4'));
    begun[0]!.end.reject(new Error('the database is away'));
    await failing;
    assert.deepEqual(begun[2]!.bodies, ['4']);
    begun[1]!.end.resolve(undefined);
    begun[2]!.end.resolve(undefined);
    await Promise.all([other, next]);
    await batches.drain();
  });
});
