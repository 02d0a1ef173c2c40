import assert from 'node:assert/strict';
import test from 'node:test';
import { withChecksum } from '@heddle/test-support/scan/with-checksum';
import fc from 'fast-check';
import type { Detection } from '../../src/detect/port.ts';
import { detectorOf, scanObject } from '../support/detect/fixture.ts';

/** One rule of each kind of placement, with short windows. */
const RULES = `
[[rules]]
id = "prefixed"
regex = '''ghx_[0-9a-zA-Z]{6}'''
keywords = ["ghx_"]
[[rules]]
id = "generic-assigned"
regex = '''(?i)[\\w.-]{0,8}?(?:key|pass)(?:[ \\t\\w.-]{0,5})[\\s'"]{0,3}(?:=|:)[ '"]{0,3}([\\w-]{4,12}|x+)(?:['"\\s;]|$)'''
keywords = ["key", "pass"]
[[rules]]
id = "near"
regex = '''\\b[a-f0-9]{5}\\b'''
keywords = ["hex"]
[[rules]]
id = "everywhere"
regex = '''\\b\\d{4}\\b'''
[[rules]]
id = "lines"
regex = '''(?m)^begin\\s[^e]{0,30}end$'''
keywords = ["begin"]
[[rules]]
id = "block"
regex = '''begin(?:\\s[^\\n]{1,12}){1,4}'''
each = '''([a-f0-9]{5})\\b'''
keywords = ["begin"]
[[rules]]
id = "backtracking"
regex = '''na(?:a{1,3}|aa){1,9}b'''
keywords = ["na"]
`;

const words = fc.constantFrom(
  ...[
    'ghx_abc123',
    'ghx_zz',
    ' key = ',
    'key',
    'pass',
    '"',
    'value_1x',
    'xxxx',
    'hex ',
    '0ab12',
    '1234',
    '\n',
    'begin ',
    'end',
  ],
  ...[' ', 'naaaaab', 'naaaaaaaaaaaaa', 'heddle:allow', '=', ': ', '.'.repeat(700), '\n'.repeat(5), 'é'],
);

/** Encoded text, short and longer than one piece of it. */
const encoded = fc.oneof(
  { weight: 6, arbitrary: words },
  { weight: 1, arbitrary: fc.constant('ghx%5Fabc123 key%20%3D%20value9') },
  { weight: 1, arbitrary: fc.constant('%41'.repeat(300)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(words, words)
      .map((parts) => Buffer.from(`text: ${parts.join('')} key = value77 ;`).toString('base64')),
  },
  {
    weight: 1,
    arbitrary: words.map((word) => {
      const inner = Buffer.from(`text: ${word} ghx_abc777 and more`).toString('base64');
      return Buffer.from(`data: ${inner} `).toString('base64');
    }),
  },
  { weight: 1, arbitrary: fc.constant(Buffer.from('plain text, then ghx_abc888 and '.repeat(900)).toString('base64')) },
  { weight: 1, arbitrary: fc.constant(Buffer.from('wide ghx_abc999 text', 'utf16le').toString('base64')) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(24, 64, 76), fc.integer({ min: 1, max: 700 })).map(([width, count]) => {
      const text = Buffer.from('plain text, then ghx_abc555 and '.repeat(count)).toString('base64');
      return `\n${text.match(new RegExp(`.{1,${width}}`, 'g'))!.join('\n')}\n`;
    }),
  },
);

function assertSame(found: readonly Detection[], whole: readonly Detection[], chunkBytes: number): void {
  assert.deepEqual(found, whole, `chunks of ${chunkBytes} bytes`);
}

const plain = detectorOf(RULES, { decodeDepth: 0 });

test('every chunk size finds what one chunk finds, in the same order', () => {
  fc.assert(
    fc.property(fc.array(words, { maxLength: 120 }), fc.integer({ min: 1, max: 5000 }), (parts, size) => {
      const text = parts.join('');
      const whole = scanObject(plain, text);
      for (const chunkBytes of [size, 1 + (size % 64)])
        assertSame(scanObject(plain, text, { chunkBytes }), whole, chunkBytes);
    }),
    { numRuns: 60 },
  );
});

test('chunk sizes from 1 byte on, for a text longer than the overlap', () => {
  const parts = [
    'key = "value_1x"\n',
    'hex 0ab12 ',
    'ghx_abc123',
    ' 1234 begin abc end\n',
    '.'.repeat(480),
    'naaaaab ',
  ];
  const text = parts.join('').repeat(36);
  assert.ok(text.length > plain.overlap);
  const whole = scanObject(plain, text);
  assert.ok(whole.length > 40);
  for (let chunkBytes = 1; chunkBytes < text.length; chunkBytes = Math.ceil(chunkBytes * 1.3)) {
    assertSame(scanObject(plain, text, { chunkBytes }), whole, chunkBytes);
  }
});

const decoding = detectorOf(RULES, { decodeDepth: 2 });

test('encoded text is found the same way with any chunks, even if it is longer than they are', () => {
  fc.assert(
    fc.property(fc.array(encoded, { maxLength: 150 }), fc.integer({ min: 500, max: 30_000 }), (parts, chunkBytes) => {
      const text = parts.join('');
      assertSame(scanObject(decoding, text, { chunkBytes }), scanObject(decoding, text), chunkBytes);
    }),
    { numRuns: 40 },
  );
});

test('UTF-16 is found the same way with any chunks, including odd sizes', () => {
  fc.assert(
    fc.property(
      fc.array(encoded, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 333, max: 30_000 }),
      fc.boolean(),
      (parts, chunkBytes, marked) => {
        const bytes = Buffer.from(`${marked ? '\ufeff' : 'text '}${parts.join('')}`, 'utf16le');
        assertSame(scanObject(decoding, bytes, { chunkBytes }), scanObject(decoding, bytes), chunkBytes);
      },
    ),
    { numRuns: 30 },
  );
});

test('the first chunks may be too short to determine the encoding', () => {
  const bytes = Buffer.from('a key = value12 ', 'utf16le');
  const whole = scanObject(decoding, bytes);
  assert.deepEqual(whole[0]?.encodings, ['utf-16le']);
  for (const chunkBytes of [1, 3, 7]) assertSame(scanObject(decoding, bytes, { chunkBytes }), whole, chunkBytes);
});

test('the built-in rules find the same in the detector’s own memory and outside it, with any cuts', () => {
  const detector = detectorOf();
  const allocated = detector.allocate(256 * 1024);
  const line = (at: number) => `const name${at} = require('./module-${at}');\n`;
  const secrets = [
    `aws_access_key_id = ${['AKIA', 'Q3EGRWKJ7P2MZXVN'].join('')}\n`,
    `token: ${withChecksum('crc32-base62', `ghp_${'x9Kq2mZ7'.repeat(5).slice(0, 36)}`)}\n`,
    `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEpAIBAAKCAQEA7bq3xY\n'.repeat(60)}-----END RSA PRIVATE KEY-----\n`,
  ];
  const text = Array.from({ length: 9000 }, (_, at) => line(at) + (at % 300 === 7 ? secrets[at % 3]! : '')).join('');
  const whole = scanObject(detector, text);
  assert.ok(whole.length >= 20, `${whole.length}`);
  for (const chunkBytes of [10_000, 65_536, 123_457]) {
    assertSame(scanObject(detector, text, { chunkBytes, allocated }), whole, chunkBytes);
  }
});
