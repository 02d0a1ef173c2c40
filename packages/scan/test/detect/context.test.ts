import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { Detection } from '../../src/detect/port.ts';
import { detectorOf, scanObject } from '../support/detect/fixture.ts';

const RULES = `
[[rules]]
id = "token"
regex = '''tok_[0-9a-z]{16}'''
keywords = ["tok_"]
[[rules]]
id = "password"
regex = '''pass = "([^"]{4,40})"'''
keywords = ["pass"]
[[rules]]
id = "hidden"
regex = '''hid_[0-9a-z]{16}'''
keywords = ["hid_"]
skipReport = true
[[rules]]
id = "key"
regex = '''(?s)BEGIN KEY.{1,400}?END KEY'''
keywords = ["BEGIN KEY"]
`;

const TOKEN = 'tok_abcdefghijk1mnop';
const detector = detectorOf(RULES);

/** Draws a context as people read it, with the match in brackets. */
function drawn({ context = [] }: Detection): string[] {
  return context.map(({ number, text, mark }) => {
    if (mark === undefined) return `${number} ${text}`;
    return `${number} ${text.slice(0, mark.start)}[${text.slice(mark.start, mark.end)}]${text.slice(mark.end)}`;
  });
}

function contextsOf(text: string | Uint8Array, using = detector): string[][] {
  return scanObject(using, text).map(drawn);
}

test('a context has three lines before and after its match, and ends with its object', () => {
  const lines = Array.from({ length: 9 }, (_, at) => `const line${at + 1} = ${at};`);
  lines[4] = `const token = "${TOKEN}"; // here`;
  const [around] = contextsOf(lines.join('\n'));
  assert.deepEqual(around, [
    '2 const line2 = 1;',
    '3 const line3 = 2;',
    '4 const line4 = 3;',
    '5 const token = "[tok_***]"; // here',
    '6 const line6 = 5;',
    '7 const line7 = 6;',
    '8 const line8 = 7;',
  ]);
  assert.deepEqual(contextsOf(`first\r\nx = ${TOKEN}\r\n`), [['1 first', '2 x = [tok_***]']]);
});

test('a context masks what any rule matched in it, allowed and unreported secrets too, and their repetitions', () => {
  const text = [
    'pass = "correct horse"',
    `x = ${TOKEN}`,
    'y = hid_abcdefghijk2mnop',
    'z = tok_abcdefghijk3mnop # heddle:allow',
    'say("correct horse")',
  ].join('\n');
  const found = contextsOf(text);
  assert.deepEqual(found[0], ['1 [pass = "co***"]', '2 x = tok_***', '3 y = hid_***', '4 z = tok_*** # heddle:allow']);
  assert.deepEqual(found[1], [
    '1 pass = "co***"',
    '2 x = [tok_***]',
    '3 y = hid_***',
    '4 z = tok_*** # heddle:allow',
    '5 say("co***")',
  ]);
});

test('a short secret is masked wherever its match has it, and nowhere else', () => {
  const short = detectorOf(`[[rules]]\nid = "pin"\nregex = '''pin pin (\\w{3})'''\nkeywords = ["pin"]\n`);
  assert.deepEqual(contextsOf('a pin\npin pin pin\n', short), [['1 a pin', '2 [*** *** ***]']]);
});

test('a context masks what looks like a secret, and shows paths and names', () => {
  const text = [
    'import { Client2 } from "../services/registry/client2.ts";',
    'session: q8Zr41LmX09vTbW7cYnE',
    `x = ${TOKEN}`,
  ].join('\n');
  assert.deepEqual(contextsOf(text), [
    ['1 import { Client2 } from "../services/registry/client2.ts";', '2 session: q8Zr***', '3 x = [tok_***]'],
  ]);
});

test('a long line is cut around its match, and neither end leaves a part of a word', () => {
  const filler = 'function a(b){return c} '.repeat(400);
  const [around] = contextsOf(`${filler}${TOKEN} ${filler}\nnext`);
  assert.equal(around!.length, 1, 'the other lines are further away than is read');
  assert.match(around![0]!, /^1 ….*\[tok_\*\*\*\] .*…$/);
  assert.ok(around![0]!.length < 220);
  // Another secret crosses the limit of what is read.
  const far = `${'q8Zr41LmX09vTbW7cYnE'.repeat(3)}${' '.repeat(1004)}`;
  assert.ok(!contextsOf(`${far}${TOKEN}`)[0]![0]!.includes('cYnE'));
});

test('encoded text is masked as a whole, and nothing decoded is shown', () => {
  const encoded = Buffer.from(`text: pass = "correct horse" and more text`).toString('base64');
  const [around] = contextsOf(`first\ndata: ${encoded}\nlast`);
  assert.equal(around!.length, 3);
  assert.match(around![1]!, /^2 data: .*\[co\*\*\*\]/);
  const [mark] = scanObject(detector, `data: ${encoded}`);
  const hidden = `data: ${encoded}`.slice(mark!.offset, mark!.offset + mark!.length);
  assert.ok(!around!.join('\n').includes(hidden));
});

test('a secret of several lines becomes one line, and the numbers of the next lines count all of it', () => {
  const text = `a\nBEGIN KEY\n${'MIIE\n'.repeat(5)}END KEY;\nb`;
  assert.deepEqual(contextsOf(text), [['1 a', '2 [BEGI***];', '9 b']]);
});

test('UTF-16 has contexts; binary content and a limit of 0 have none', () => {
  assert.deepEqual(contextsOf(Buffer.from(`first line\nx = ${TOKEN}\n`, 'utf16le')), [
    ['1 first line', '2 x = [tok_***]'],
  ]);
  assert.deepEqual(contextsOf(`a\0b\nx = ${TOKEN}\n`), [[]]);
  assert.deepEqual(contextsOf(`a\nx = ${TOKEN}\n`, detectorOf(RULES, { contextLines: 0 })), [[]]);
  assert.deepEqual(contextsOf(`é\nclé = ${TOKEN} # ça\n`), [['1 é', '2 clé = [tok_***] # ça']]);
});

test('the first thousand detections of an object have a context, with any chunks', () => {
  const text = Array.from({ length: 1500 }, (_, at) => `tok_${String(at).padStart(16, 'x')}\n`).join('');
  for (const chunkBytes of [text.length, 5000]) {
    const withContext = scanObject(detector, text, { chunkBytes }).map(({ context }) => context !== undefined);
    assert.deepEqual(
      withContext,
      withContext.map((_, at) => at < 1000),
    );
  }
});

test('no context contains a secret that was found, or exceeds its bound', () => {
  const secret = fc.integer({ min: 0, max: 35 ** 4 }).map((n) => n.toString(36).padStart(16, '0'));
  const part = fc.oneof(
    secret.map((text) => `tok_${text}`),
    secret.map((text) => `hid_${text}`),
    secret.map((text) => `pass = "${text}"`),
    secret.map((text) => Buffer.from(`it is pass = "${text}" and so on`).toString('base64')),
    fc.constantFrom('\n', '\n', ' ', '; ', 'é', ' heddle:allow', '.'.repeat(300), ' word '.repeat(300)),
  );
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 60 }), fc.integer({ min: 500, max: 9000 }), (parts, size) => {
      const found = scanObject(detector, parts.join(''), { chunkBytes: size });
      for (const { offset, context = [] } of found) {
        const shown = context.map(({ text }) => text).join('\n');
        assert.ok(shown.length <= 2000 + context.length * 3);
        const near = found.filter((other) => Math.abs(other.offset - offset) < 1000);
        for (const { secret: known } of near) assert.ok(!shown.includes(known), `${known} in ${shown}`);
      }
    }),
    { numRuns: 200 },
  );
});
