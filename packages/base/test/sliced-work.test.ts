import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { SlicedWork } from '../src/sliced-work.ts';
import { SharedTurns } from '../src/turn.ts';

describe('sliced work', () => {
  it('begins with a turn, and makes way after each slice', async () => {
    let turns = 0;
    const turn = (): Promise<void> => {
      turns += 1;
      return Promise.resolve();
    };
    const work = new SlicedWork({ steps_max: 100, slice_steps: 10, turn });
    const turnsAt: number[] = [];
    while (work.left > 0) {
      if (work.isSliceOver) {
        await work.nextSlice();
        turnsAt.push(work.spent);
      }
      work.spend(4);
    }
    assert.deepEqual(turnsAt, [0, 12, 24, 36, 48, 60, 72, 84, 96]);
    assert.equal(turns, turnsAt.length);
    assert.equal(work.left, 0);
  });

  it('has parts that spend what the whole has', () => {
    const work = new SlicedWork({ steps_max: 100, slice_steps: 10 });
    work.spend(40);
    const part = work.part(50);
    part.spend(30);
    assert.deepEqual([work.spent, part.left], [70, 20]);
    work.part(1000).spend(25);
    assert.equal(part.left, 0);
    assert.equal(work.part(1000).left, 5);
  });
});

describe('shared turns', () => {
  it('go to one at a time, in the order in which they were asked for', async () => {
    let give: (() => void)[] = [];
    const turns = new SharedTurns((run) => give.push(run));
    const given: string[] = [];
    const ask = (name: string): Promise<void> => turns.next().then(() => void given.push(name));
    const asked = [ask('a'), ask('b')];
    const endOfTurn = async (): Promise<void> => {
      const [run, ...others] = give;
      assert.deepEqual(others, [], 'one turn is asked for at a time');
      give = [];
      run!();
      await Promise.resolve();
      await Promise.resolve();
    };
    await endOfTurn();
    assert.deepEqual(given, ['a']);
    asked.push(ask('a again'));
    await endOfTurn();
    assert.deepEqual(given, ['a', 'b']);
    await endOfTurn();
    await Promise.all(asked);
    assert.deepEqual(given, ['a', 'b', 'a again']);
    assert.deepEqual(give, []);
  });
});
