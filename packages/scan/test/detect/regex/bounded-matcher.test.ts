import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { repeatsEmpty } from '../../../src/detect/regex/analyse.ts';
import { BoundedMatcher } from '../../../src/detect/regex/bounded-matcher.ts';
import { compileRegex } from '../../../src/detect/regex/compiled-regex.ts';
import type { RegexNode } from '../../../src/detect/regex/ast.ts';
import { parseRegex } from '../../../src/detect/regex/parse.ts';
import { compileProgram, ProgramTooLarge } from '../../../src/detect/regex/program.ts';
import { toJavaScript } from '../../../src/detect/regex/translate.ts';
import { patterns, texts } from '../../support/detect/regex/random-patterns.ts';

function boundedSpan(pattern: string, text: string): [number, number] | null {
  const { node, groups } = parseRegex(pattern);
  const spans = new BoundedMatcher(compileProgram(node), groups).search(text, 0);
  return spans === null ? null : [spans[0]!, spans[1]!];
}

/** A few random patterns repeat their counted repetitions so often that they are rejected. */
function hasProgram(node: RegexNode): boolean {
  try {
    compileProgram(node);
    return true;
  } catch (error) {
    if (error instanceof ProgramTooLarge) return false;
    throw error;
  }
}

test('the bounded matcher agrees with the native engine on random patterns and texts', () => {
  fc.assert(
    fc.property(patterns, texts, (pattern, text) => {
      const { node } = parseRegex(pattern);
      fc.pre(!repeatsEmpty(node) && hasProgram(node));
      const match = new RegExp(toJavaScript(node)).exec(text);
      const native = match === null ? null : [match.index, match.index + match[0].length];
      assert.deepEqual(boundedSpan(pattern, text), native, `/${pattern}/ on ${JSON.stringify(text)}`);
    }),
    { numRuns: 3000 },
  );
});

test('groups agree with the native engine if no group is repeated', () => {
  const pattern = '(a+)(b|bc)(?:c(d)?)?(.*)';
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), maxLength: 12 }), (text) => {
      const { node, groups } = parseRegex(pattern);
      const spans = new BoundedMatcher(compileProgram(node), groups).search(text, 0);
      const native = new RegExp(toJavaScript(node), 'd').exec(text);
      const expected = native?.indices?.flatMap((span) => span ?? [-1, -1]) ?? null;
      assert.deepEqual(spans, expected);
    }),
  );
});

test('repeated empty matches use the bounded matcher, whose preferences are those of RE2', () => {
  const regex = compileRegex('(?:a{0,2}?|ab){1,3}\\b', 64);
  assert.equal(regex.engine, 'bounded');
  assert.deepEqual(regex.search('a'), { start: 0, end: 0, groups: [] });
});

const CATASTROPHIC = [
  '(a+)+$',
  '(a+)+b',
  '(a|a)*b',
  '(a|aa)+$',
  '(x+x+)+y',
  '(?:a?){40}a{40}b',
  '(?:(?:a{1,5}){1,5}){1,5}b',
  '(.*)*=.*;',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(?:[\\w.-]*)*@(?:[\\w.-]*)*!',
];

for (const pattern of CATASTROPHIC) {
  test(`${pattern} costs at most pattern times text`, () => {
    const { node, groups } = parseRegex(pattern);
    const program = compileProgram(node);
    for (const letter of ['a', 'x', '@', '=']) {
      const text = letter.repeat(2000);
      const matcher = new BoundedMatcher(program, groups);
      matcher.search(text, 0);
      // Runs of one set try each of their ends once, as if they were expanded.
      const runs = program.filter(({ op }) => op === 'run').length;
      assert.ok(matcher.steps <= 3 * program.length * (text.length + 1) + runs * text.length ** 2, `${matcher.steps}`);
    }
    assert.equal(compileRegex(pattern, 4096).engine, 'bounded');
  });
}

test('excessively nested counts are rejected', () => {
  assert.throws(() => compileRegex('(?:(?:(?:ab){100}c){100}d?){100}', 4096), /instructions/);
});
