import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { ManagerBatches } from '../../src/app/manager-batches.ts';
import type { ReceivedMessage } from '@heddle/core/queue/port';

interface Batch {
  bodies: string[];
  end: PromiseWithResolvers<undefined>;
}

/** Batches of at most five messages or a hundred characters, two running at once, each until the test ends it. */
function newBatches(): { batches: ManagerBatches; begun: Batch[] } {
  const begun: Batch[] = [];
  const batches = new ManagerBatches({
    underWayMax: 2,
    messagesMax: 5,
    charactersMax: 100,
    handle: (messages) => {
      const end = Promise.withResolvers<undefined>();
      begun.push({ bodies: messages.map(({ body }) => body), end });
      return end.promise;
    },
  });
  return { batches, begun };
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
  it('starts a set at once, and combines those that arrive meanwhile', async () => {
    const { batches, begun } = newBatches();
    const ends = ['a', 'b', 'c', 'd'].map((body) => batches.add(set(body)));
    assert.deepEqual(
      begun.map(({ bodies }) => bodies),
      [['a'], ['b']],
    );
    begun[0]!.end.resolve(undefined);
    await ends[0];
    assert.deepEqual(begun[2]!.bodies, ['c', 'd']);
    begun[2]!.end.resolve(undefined);
    await Promise.all([ends[2], ends[3]]);
    begun[1]!.end.resolve(undefined);
    await batches.drain();
    void batches.add(set('e'));
    assert.deepEqual(begun[3]!.bodies, ['e']);
  });

  it('splits no set, and combines none beyond the limits of a batch', async () => {
    const { batches, begun } = newBatches();
    const long = 'x'.repeat(60);
    for (const bodies of [['1'], ['2'], ['a', 'b', 'c'], ['d', 'e', 'f'], [long], [long], 'ghijklm'.split('')]) {
      void batches.add(set(...bodies));
    }
    for (let at = 0; at < 6; at += 1) {
      begun[at]!.end.resolve(undefined);
      await isSettled(new Promise(() => undefined));
    }
    assert.deepEqual(
      begun.map(({ bodies }) => bodies),
      [['1'], ['2'], ['a', 'b', 'c'], ['d', 'e', 'f', long], [long], 'ghijklm'.split('')],
    );
    await batches.drain();
  });

  it('has capacity until the next batch is full', async () => {
    const { batches, begun } = newBatches();
    void batches.add(set('1'));
    void batches.add(set('2'));
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
    const other = batches.add(set('2'));
    const next = batches.add(set('3'));
    begun[0]!.end.reject(new Error('the database is away'));
    await failing;
    assert.deepEqual(begun[2]!.bodies, ['3']);
    begun[1]!.end.resolve(undefined);
    begun[2]!.end.resolve(undefined);
    await Promise.all([other, next]);
    await batches.drain();
  });
});
