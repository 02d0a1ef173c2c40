import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { UnprovenMemory, type UnprovenShare } from '../src/unproven-memory.ts';

interface Caller {
  readonly share: UnprovenShare;
  cut: boolean;
}

function join(memory: UnprovenMemory, address: string): Caller {
  const caller: Caller = { share: memory.join(address, () => (caller.cut = true)), cut: false };
  return caller;
}

test('the oldest request of a crowded address is evicted, but none elsewhere', () => {
  const memory = new UnprovenMemory(100);
  const honest = join(memory, 'honest');
  honest.share.hold(20);
  const strangers = Array.from({ length: 9 }, () => join(memory, 'strange'));
  for (const { share } of strangers) share.hold(10);
  assert.deepEqual([honest.cut, strangers.findIndex(({ cut }) => cut), memory.bytes], [false, 0, 100]);
  strangers[5]!.share.hold(25);
  assert.deepEqual(
    strangers.flatMap(({ cut }, index) => (cut ? [index] : [])),
    [0, 1, 2],
  );
  assert.equal(honest.cut, false);
});

test('without a crowded address, the oldest request is evicted', () => {
  const memory = new UnprovenMemory(100);
  const callers = Array.from({ length: 6 }, (_, index) => join(memory, `address ${index}`));
  for (const { share } of callers) share.hold(20);
  assert.deepEqual(
    callers.map(({ cut }) => cut),
    [true, false, false, false, false, false],
  );
  // A completed request lets the next one join at the end.
  callers[1]!.share.hold(0);
  callers[1]!.share.hold(20);
  join(memory, 'newcomer').share.hold(20);
  assert.deepEqual([callers[1]!.cut, callers[2]!.cut], [false, true]);
});

test('proven and closed connections no longer count', () => {
  const memory = new UnprovenMemory(100);
  const proven = join(memory, 'one');
  proven.share.hold(90);
  proven.share.leave();
  assert.equal(memory.bytes, 0);
  proven.share.hold(1_000);
  assert.deepEqual([memory.bytes, proven.cut], [0, false]);
});

test('the total never exceeds the limit, and the count matches what callers hold', () => {
  const step = fc.record({ caller: fc.nat(19), bytes: fc.nat(60), leaves: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const memory = new UnprovenMemory(100);
      const held = new Map<number, number>();
      const shares = new Map<number, UnprovenShare>();
      const forget = (caller: number): void => {
        held.delete(caller);
        shares.delete(caller);
      };
      for (const { caller, bytes, leaves } of steps) {
        const share = shares.get(caller) ?? memory.join(`address ${caller % 4}`, () => forget(caller));
        shares.set(caller, share);
        held.set(caller, bytes);
        share.hold(bytes);
        if (leaves) {
          share.leave();
          forget(caller);
        }
        assert.ok(memory.bytes <= 100);
        assert.equal(
          memory.bytes,
          [...held.values()].reduce((sum, each) => sum + each, 0),
        );
      }
    }),
  );
});
