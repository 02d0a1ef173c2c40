import assert from 'node:assert/strict';
import test from 'node:test';
import { withChecksum } from '@heddle/test-support/scan/with-checksum';
import fc from 'fast-check';
import type { Detection } from '../../src/detect/port.ts';
import { detectorOf, scanObject } from '../support/detect/fixture.ts';
import { encoded, RULES, words } from '../support/detect/texts.ts';

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
