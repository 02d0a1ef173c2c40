import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Fifo } from '../src/fifo.ts';

test('items leave in the order in which they came, like those of an array', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 200 }), (pushes) => {
      const fifo = new Fifo<number>();
      const expected: number[] = [];
      for (const [index, isPush] of pushes.entries()) {
        if (isPush) fifo.push(expected[expected.push(index) - 1]!);
        else assert.equal(fifo.shift(), expected.shift());
        assert.equal(fifo.length, expected.length);
        assert.equal(fifo.peek(), expected[0]);
      }
      for (const item of expected) assert.equal(fifo.shift(), item);
      assert.equal(fifo.shift(), undefined);
    }),
  );
});
