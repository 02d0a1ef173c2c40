import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { compileExpression } from '../../src/expression/compile.ts';
import { ExpressionError } from '../../src/expression/fault.ts';

const VARIABLES = {
  data: {
    big: 'a'.repeat(1_000_000),
    list: Array.from({ length: 5000 }, (_, index) => index),
    map: Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, index])),
  },
  now: new Date('2026-03-01T12:00:00Z'),
};
/** Far above what the budget allows on a slow machine, far below what any of these would take without it. */
const TIME_MAX_MS = 5000;

/** `cel.bind(v1, …, cel.bind(v2, … ))`: each level may use the one before twice. */
function doubled(levels: number, first: string, next: (before: string) => string, last: string): string {
  let text = last;
  for (let level = levels; level >= 1; level -= 1) {
    text = `cel.bind(v${level}, ${level === 1 ? first : next(`v${level - 1}`)}, ${text})`;
  }
  return text;
}

describe('hostile expressions', () => {
  const expressions: [string, string][] = [
    ['macros in macros', 'data.list.map(a, data.list.map(b, data.list.map(c, c)))'],
    ['macros that make no value', 'data.list.all(a, data.list.all(b, data.list.all(c, c >= 0)))'],
    ['membership in a macro', 'data.list.map(a, data.list.filter(b, b in data.list).size())'],
    ['comparing lists in a macro', 'data.list.map(a, data.list == data.list + [])'],
    ['searching texts in a macro', 'data.list.filter(a, data.big.contains("aaab"))'],
    ['sizes of maps in a macro', 'data.list.map(a, data.list.map(b, size(data.map)))'],
    ['members of maps in a macro', 'data.list.all(a, data.list.all(b, "k1" in data.map))'],
    ['types of maps in a macro', 'data.list.all(a, data.list.all(b, data.map != 1))'],
    ['a pattern that backtracks', 'data.big.matches("(a+)+$b")'],
    ['a pattern of many alternatives', 'data.big.matches("(a|aa|aaa|a*)*b")'],
    ['a pattern that is large', 'data.big.matches("(a{1,30}){1,30}b")'],
    ['a needle as long as the text', 'data.big.contains("b" + data.big.substring(500000))'],
    ['lists doubled', doubled(25, '[1, 1]', (before) => `[${before}, ${before}]`, 'v25')],
    ['lists doubled and compared', doubled(25, '[1, 1]', (before) => `[${before}, ${before}]`, 'v25 == [v24, v24]')],
    ['lists added to themselves', doubled(25, '[1]', (before) => `${before} + ${before}`, 'v25')],
    ['texts added to themselves', doubled(25, '"aaaa"', (before) => `${before} + ${before}`, 'v25')],
    ['texts joined', 'data.big.split("").join(data.big)'],
    ['a long duration', 'duration(data.big)'],
    ['a long number', 'double(data.big)'],
    ['time zones in a macro', 'data.list.map(x, now.getHours("Europe/Berlin"))'],
  ];
  for (const [name, text] of expressions) {
    it(`end: ${name}`, () => {
      const compiled = compileExpression(text);
      assert.ok(compiled.ok, compiled.ok ? '' : compiled.fault.message);
      const before = process.cpuUsage();
      assert.throws(() => compiled.expression.evaluate(VARIABLES), ExpressionError);
      const { user } = process.cpuUsage(before);
      assert.ok(user / 1000 < TIME_MAX_MS, `took ${Math.round(user / 1000)} ms`);
    });
  }

  it('leave room for work that is honest', () => {
    const compiled = compileExpression('data.list.filter(x, x % 2 == 0 && x in data.list).map(x, {"n": x}).size()');
    assert.ok(compiled.ok);
    assert.equal(compiled.expression.evaluate(VARIABLES), 2500);
  });

  it('do not use up what the next evaluation may take', () => {
    const compiled = compileExpression('data.list.map(a, data.list.map(b, a * b)).size()');
    assert.ok(compiled.ok);
    const { expression } = compiled;
    assert.throws(() => expression.evaluate(VARIABLES), /takes more than 2000000 steps/);
    assert.equal(expression.evaluate({ data: { list: [1, 2] } }), 2);
  });
});
