import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';

import {
  type AheadPattern,
  LookAhead,
  lookAhead,
  PATTERNS_MAX,
  UNDECIDED,
} from '../../../src/detect/regex/look-ahead.ts';
import { parseRegex } from '../../../src/detect/regex/parse.ts';

/** Parts of patterns, equal in RE2 and in JavaScript. */
const part = fc.constantFrom(
  ...[
    'a',
    'b',
    'ab',
    '[ab]',
    '[^a]',
    '[a-c]{0,3}',
    '[ab]{2,5}',
    'c+',
    '(?:a|bc)',
    '(?:ab|c){1,3}',
    'a?',
    'c*',
    '.{1,4}?',
  ],
);
const assertion = fc.constantFrom('\\b', '\\B', '$', '^');
const patternOf = (parts: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(parts, { minLength: 1, maxLength: 5 }).map((each) => each.join(''));
const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'K', ' ', '\n'), maxLength: 40 });

/** The literals have both cases, as patterns with `(?i)` do. */
function patternsOf(sources: readonly string[], literals: readonly string[]): AheadPattern[] {
  return sources.map((source, at) => {
    const literal = literals[at]!;
    return { node: parseRegex(`(?i:${literal})${source}`).node, literal };
  });
}

function outlookOf(ahead: LookAhead, text: string, at: number): number {
  const bytes = Buffer.from(text, 'latin1');
  return ahead.outlook(bytes, at, bytes.length);
}

test('passes exactly the patterns that match, where runs are short and a longer text changes nothing', () => {
  fc.assert(
    fc.property(fc.array(patternOf(part), { minLength: 1, maxLength: 4 }), fc.array(texts), (sources, many) => {
      const ahead = new LookAhead(patternsOf(sources, ['k', 'k', 'k', 'k']));
      for (const text of many) {
        // Longer than any match.
        const whole = `K${text}${'\n'.repeat(60)}`;
        const expected = sources.map((source) => new RegExp(`(?:k|K)${source}`, 'y').test(whole));
        const bits = outlookOf(ahead, whole, 1);
        assert.notEqual(bits, UNDECIDED);
        assert.deepEqual(
          sources.map((_, at) => ((bits >> at) & 1) === 1),
          expected,
        );
      }
    }),
  );
});

test('passes a pattern only where the one that belongs to it matches, too', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(patternOf(part), patternOf(part)), { minLength: 1, maxLength: 3 }),
      fc.array(texts),
      (pairs, many) => {
        const letters = pairs.map(() => 'k');
        const patterns = patternsOf(
          pairs.map(([source]) => source),
          letters,
        );
        const ands = patternsOf(
          pairs.map(([, and]) => and),
          letters,
        );
        const ahead = new LookAhead(patterns.map((each, at) => (at === 1 ? each : { ...each, and: ands[at]!.node })));
        for (const text of many) {
          const whole = `K${text}${'\n'.repeat(60)}`;
          const matches = (source: string): boolean => new RegExp(`(?:k|K)${source}`, 'y').test(whole);
          const expected = pairs.map(([source, and], at) => matches(source) && (at === 1 || matches(and)));
          const bits = outlookOf(ahead, whole, 1);
          assert.deepEqual(
            pairs.map((_, at) => ((bits >> at) & 1) === 1),
            expected,
          );
          assert.equal(bits >> pairs.length, 0);
        }
      },
    ),
  );
});

test('never leaves out a pattern that matches, whatever it asserts and wherever the text ends', () => {
  fc.assert(
    fc.property(patternOf(fc.oneof(part, part, assertion)), fc.array(texts), (source, many) => {
      const ahead = new LookAhead(patternsOf([source, source], ['bk', 'k']));
      for (const text of many) {
        const whole = `bK${text}`;
        // All bits of UNDECIDED are set.
        if (new RegExp(`[bB][kK]${source}`, 'y').test(whole)) assert.equal(outlookOf(ahead, whole, 2) & 1, 1);
      }
    }),
  );
});

test('says when it would need too many states or bytes, and goes on with the states it has', () => {
  // Each state has to remember which of the last twelve letters were an `a`.
  const ahead = new LookAhead(patternsOf(['[ab]{0,60}a[ab]{12}c'], ['k']));
  let state = 1;
  const random = Array.from({ length: 20_000 }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return state % 2 === 0 ? 'a' : 'b';
  });
  // Few enough letters that only the states can run out.
  const textAt = (at: number): string => `k${random.slice(at * 40, at * 40 + 40).join('')}!`;
  const answers = Array.from({ length: 400 }, (_, at) => outlookOf(ahead, textAt(at), 1));
  assert.equal(answers[0], 0);
  assert.ok(answers.includes(UNDECIDED), 'the states are bounded');
  assert.equal(outlookOf(ahead, textAt(0), 1), 0);
  const long = new LookAhead(patternsOf(['[ab]{0,200}c'], ['k']));
  assert.equal(outlookOf(long, `k${'a'.repeat(30)}!`, 1), 0);
  assert.equal(outlookOf(long, `k${'a'.repeat(100)}!`, 1), UNDECIDED);
});

test('is not made for too many patterns, or for too large ones', () => {
  const many = (count: number) => patternsOf(Array<string>(count).fill('a'), Array<string>(count).fill('k'));
  assert.notEqual(lookAhead(many(PATTERNS_MAX)), null);
  assert.equal(lookAhead(many(PATTERNS_MAX + 1)), null);
  assert.equal(lookAhead([]), null);
  assert.equal(lookAhead(patternsOf(['(?:(?:ab){100}){150}'], ['k'])), null);
});
