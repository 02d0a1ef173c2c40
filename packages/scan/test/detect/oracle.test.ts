import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { loadRules } from '../../src/detect/rules/load-rules.ts';
import { parseRegex } from '../../src/detect/regex/parse.ts';
import { toJavaScript } from '../../src/detect/regex/translate.ts';
import { checkedText } from '../support/detect/rules/checked-text.ts';
import { expandCase, readCases } from '../support/detect/rules/case-text.ts';
import { detectorOf, scanObject } from '../support/detect/fixture.ts';

/** Patterns whose every match contains the keyword, with spans well below the windows. */
const PATTERNS: readonly { id: string; regex: string; keywords: readonly string[] }[] = [
  { id: 'literal', regex: 'ghx_[0-9a-z]{4,6}', keywords: ['ghx_'] },
  { id: 'boundary', regex: '\\b(?:sk|rk)_live_[a-z0-9]{3,5}\\b', keywords: ['sk_live', 'rk_live'] },
  {
    id: 'assigned',
    regex: '(?i)[\\w.-]{0,9}?(?:acme)[\\w ]{0,5}[=:]["\' ]{0,2}([a-z0-9]{4})(?:["\'\\s]|$)',
    keywords: ['acme'],
  },
  { id: 'inner', regex: '[a-z0-9]{3}Q~[a-z]{2,4}', keywords: ['q~'] },
  { id: 'suffix', regex: '[a-z]{2}[0-9]{2}_mmk(?:\\s|$)', keywords: ['_mmk'] },
  { id: 'start', regex: '(?:^|[\\s,])zz-[0-9]+(?:$|[\\s,])', keywords: ['zz-'] },
];

const toml = PATTERNS.map(
  ({ id, regex, keywords }) =>
    `[[rules]]\nid = "${id}"\nregex = '''${regex}'''\nkeywords = ${JSON.stringify(keywords)}\n`,
).join('');
const detector = detectorOf(toml, { decodeDepth: 0 });

const texts = fc
  .array(
    fc.constantFrom(
      ...[
        'ghx_abc1',
        'ghx_abc123zz',
        'sk_live_abc',
        '_rk_live_abcd1',
        'acme',
        'ACME_key',
        ' = ',
        '="',
        'abcd',
        'ab12',
        '"',
      ],
      ...['x1aQ~', 'q~', 'abcd ', 'ab12_mmk', '_mmk', 'zz-', '123', ',', ' ', '\n', '.', '-', 'é', '\0'],
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(''));

/** Each rule's successive matches, as found by the native engine in the whole text. */
function oracle(text: string): string[] {
  const bytes = Buffer.from(text).toString('latin1');
  const found = PATTERNS.flatMap(({ id, regex }) =>
    [...bytes.matchAll(new RegExp(toJavaScript(parseRegex(regex).node), 'g'))].map((match) => {
      const lead = /^[\r\n]*/.exec(match[0])![0].length;
      return { id, offset: match.index + lead, match: match[0].replaceAll(/^[\r\n]+|[\r\n]+$/g, '') };
    }),
  );
  return found
    .sort((left, right) => left.offset - right.offset || (left.id < right.id ? -1 : 1))
    .map(({ id, offset, match }) => `${id}@${offset}:${match}`);
}

test('finds what each pattern finds by itself in the whole text', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const found = scanObject(detector, text).map(
        ({ rule_id, offset, match }) => `${rule_id}@${offset}:${Buffer.from(match).toString('latin1')}`,
      );
      assert.deepEqual(found, oracle(text));
    }),
    { numRuns: 1500 },
  );
});

test('finds secrets of every built-in rule anywhere in a file, with or without chunks', () => {
  const cases = readCases();
  const rules = loadRules({ rules: [] }).rules;
  const builtin = detectorOf(undefined, { decodeDepth: 0 });
  const missed: string[] = [];
  for (const rule of rules) {
    const { id, regex, path } = rule;
    const positive = cases.get(id)?.positive[0];
    if (positive === undefined || regex === undefined || path !== undefined) continue;
    const expanded = expandCase(positive, id);
    const { path: at } = expanded;
    const text = checkedText(rule, expanded.text);
    const alone = scanObject(builtin, text, { path: at });
    const filler = `${'let counter = 0; // nothing here\n'.repeat(90)}\n`;
    const there = scanObject(builtin, `${filler}${text}\n${filler}`, { path: at, chunkBytes: 1777 });
    if (alone.length === 0 || there.length !== alone.length)
      missed.push(`${id}: ${alone.length} alone, ${there.length} within`);
  }
  assert.deepEqual(missed, []);
});
