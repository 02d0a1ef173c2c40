import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { compileExpression } from '../../src/expression/compile.ts';
import { AllowanceSpentError, ExpressionError } from '../../src/expression/fault.ts';
import { SlicedWork } from '@heddle/base/sliced-work';

const VARIABLES = {
  nodes: {
    scan: {
      state: 'Succeeded',
      result: {
        hosts: [
          { ip: 'a', ports: [1, 2] },
          { ip: 'b', ports: [] },
          { ip: 'c', ports: [3] },
        ],
        none: null,
        n: 3,
      },
    },
  },
  data: { list: Array.from({ length: 30 }, (_, index) => index), words: ['x', 'y', 'z'] },
  now: new Date('2026-03-01T12:00:00Z'),
};

const EXPRESSIONS = [
  'data.list.map(a, a * 2)',
  'data.list.map(a, a % 2 == 0, a + 1)',
  'data.list.filter(a, data.list.exists(b, b == a + 20))',
  'data.list.map(a, data.list.map(b, a * b).size()).size() + data.list.size()',
  'data.list.all(a, a >= 0) && data.list.exists_one(a, a == 7) || data.list.exists(a, a == 99)',
  'data.list.exists(a, a == 99) || data.list.all(a, a >= 0)',
  'data.list.all(a, data.list.all(b, b >= 0))',
  'data.list.exists(a, data.list.exists(b, b == a + 40))',
  'data.list.exists_one(a, data.list.all(b, b >= a))',
  'data.list.map(a, data.words.exists_one(w, w == "x") && data.list.all(b, b != a + 100))',
  'data.words.map(w, cel.bind(n, data.list.filter(a, a > 25), n.map(a, cel.bind(m, n.all(b, b > a), m ? w : w + "?"))))',
  'data.list.exists(a, a / 0 == 1 || a == 5)',
  '[data.list.map(a, a), data.list.filter(a, a > 27), [data.list.map(a, a).size()]]',
  '{"a": data.list.map(a, a).size(), "b": data.words.map(w, w + "!").join(",")}',
  'data.list.map(a, a)[data.list.filter(a, a < 3).size()]',
  'data.list.map(a, a) == data.list && data.list.map(a, a) + [1] != data.list',
  'data.list.filter(a, a > 10).size() > 5 ? data.words.map(w, w) : data.words',
  'data.words.map(w, {"word": w, "hosts": nodes.scan.result.hosts.map(h, h.ports.map(p, p + 1))})',
  'cel.bind(big, data.list.filter(a, a > 25), big.map(a, big.map(b, a - b)))',
  'nodes.scan.result.hosts.map(h, h.?zone.orValue("eu"))',
  'nodes.scan.result.hosts.filter(h, has(h.ports) && size(h.ports) > 0).map(h, h.ip).join(" ")',
  '-data.list.map(a, a).size() + (nodes.scan.result.none == null ? 1 : 2)',
  '!(data.list.all(a, a < 10)) ? timestamp("2026-01-01T00:00:00Z") < now : false',
  'data.words.exists(w, w.matches("^[y]$")) ? "yes".substring(data.list.filter(a, a == 1).size()) : "no"',
  'nodes.scan.result.n + 1',
];

const FAULTS = [
  'data.list.map(a, a.nothing)',
  '[data.list.map(a, data.list.map(b, a)), data.list.map(a, a.nothing)]',
  'data.list.map(a, a) + data.missing.map(a, a)',
  'data.missing.map(a, a) + data.list.map(a, a)',
  'data.list.all(a, a)',
  'data.list.filter(a, data.words)',
];

/** Makes way at every step of every loop. */
function everyStep(steps_max = Number.POSITIVE_INFINITY): { work: SlicedWork; turns: () => number } {
  let turns = 0;
  const turn = (): Promise<void> => {
    turns += 1;
    return new Promise((resolve) => setImmediate(resolve));
  };
  return { work: new SlicedWork({ steps_max, slice_steps: 0, turn }), turns: () => turns };
}

function compiled(text: string) {
  const result = compileExpression(text);
  if (!result.ok) throw result.fault;
  return result.expression;
}

describe('expressions in slices', () => {
  for (const text of EXPRESSIONS) {
    it(`have the value that they have at once: ${text}`, async () => {
      const expression = compiled(text);
      const expected = expression.evaluate(VARIABLES);
      const { work, turns } = everyStep();
      assert.deepEqual(await expression.evaluateSliced(VARIABLES, work), expected);
      assert.ok(turns() > 0 || text.endsWith('n + 1'), 'it never made way');
      assert.deepEqual(expression.evaluate(VARIABLES), expected, 'afterwards, at once');
      const whole = new SlicedWork({ slice_steps: 1_000_000 });
      await whole.nextSlice();
      assert.deepEqual(await expression.evaluateSliced(VARIABLES, whole), expected, 'in one slice');
      assert.equal(work.spent, whole.spent, 'the steps are the same');
    });
  }

  for (const text of FAULTS) {
    it(`fail as they do at once: ${text}`, async () => {
      const expression = compiled(text);
      let message = '';
      assert.throws(
        () => expression.evaluate(VARIABLES),
        (error) => {
          message = (error as Error).message;
          return error instanceof ExpressionError;
        },
      );
      await assert.rejects(expression.evaluateSliced(VARIABLES, everyStep().work), { message });
    });
  }

  it('go on beside each other, each with its own values', async () => {
    const expression = compiled('data.list.map(a, data.list.exists(b, b == a + 1) ? a : -1)');
    const lists = Array.from({ length: 10 }, (_, n) => Array.from({ length: n + 2 }, (_unused, index) => index * n));
    const expected = lists.map((list) => expression.evaluate({ data: { list } }));
    const values = lists.map((list) => expression.evaluateSliced({ data: { list } }, everyStep().work));
    assert.deepEqual(await Promise.all(values), expected);
  });

  it('make way within one expression: no slice is longer than it may be by more than one step of a loop', async () => {
    const at: number[] = [];
    const work: SlicedWork = new SlicedWork({
      slice_steps: 10_000,
      turn: () => {
        at.push(work.spent);
        return Promise.resolve();
      },
    });
    await compiled('data.list.map(a, data.list.map(b, data.list.exists(c, c == -1)).size()).size()').evaluateSliced(
      VARIABLES,
      work,
    );
    const slices = [...at.slice(1), work.spent].map((spent, index) => spent - at[index]!);
    assert.ok(slices.length >= 10, `${slices.length} slices`);
    assert.ok(Math.max(...slices) <= 10_100, slices.join());
  });

  it('end where the allowance does, or their own bound, and leave nothing at work', async () => {
    const long = compiled('data.list.map(a, data.list.map(b, data.list.map(c, data.list.map(d, d))))');
    const { work } = everyStep(5_000);
    await assert.rejects(long.evaluateSliced(VARIABLES, work), AllowanceSpentError);
    const { spent } = work;
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(work.spent, spent);
    const own = new SlicedWork({ slice_steps: 200_000 });
    const list = Array.from({ length: 2_000 }, (_, index) => index);
    const bounded = compiled('data.list.map(a, data.list.map(b, a * b)).size()');
    await assert.rejects(bounded.evaluateSliced({ data: { list } }, own), /takes more than 2000000 steps/);
  });
});
