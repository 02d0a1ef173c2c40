import assert from 'node:assert/strict';
import { it } from 'node:test';

import { compileExpression } from '@heddle/core/expression/compile';
import { SLICE_STEPS } from '@heddle/core/expression/meter';
import { ItemEvaluation } from '../../../src/kinds/items/item-expression.ts';

const LIST = Array.from({ length: 450 }, (_, index) => index);
/** About 1,400,000 steps. */
const HEAVY = 'item.map(a, item.exists(b, b == -1)).size()';

function heavy() {
  const compiled = compileExpression(HEAVY, { variables: ['item', 'params', 'now'] });
  if (!compiled.ok) throw compiled.fault;
  return { expression: compiled.expression };
}

function evaluation(signal: AbortSignal): ItemEvaluation {
  return new ItemEvaluation({ params: null, now: new Date(0), signal });
}

it('expressions over items leave the event loop to other work, within one item and between items', async (context) => {
  let turns = 0;
  let counting = setImmediate(function count() {
    turns += 1;
    counting = setImmediate(count);
  });
  context.after(() => clearImmediate(counting));
  const items = evaluation(new AbortController().signal);
  const where = heavy();
  for (const after of [1, 2]) {
    assert.equal(await items.valueOf(where, LIST), LIST.length);
    assert.ok(turns >= after * Math.floor(1_000_000 / SLICE_STEPS), `${turns} turns after ${after} items`);
  }
});

it('expressions over items end with their task', async () => {
  const stop = new AbortController();
  const items = evaluation(stop.signal);
  const where = heavy();
  await items.valueOf(where, LIST);
  stop.abort(new Error('canceled'));
  await assert.rejects(items.valueOf(where, LIST), /canceled/);
});
