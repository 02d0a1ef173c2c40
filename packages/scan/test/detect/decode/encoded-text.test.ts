import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { base64Source, decodeBase64, looksLikeText } from '../../../src/detect/decode/base64.ts';
import { PIECE_BYTES, PieceCutter } from '../../../src/detect/decode/pieces.ts';
import { decodeUrl, urlSource } from '../../../src/detect/decode/url.ts';
import { decodeUtf16, detectUtf16 } from '../../../src/detect/decode/utf16.ts';
import { detectorOf, scanObject } from '../../support/detect/fixture.ts';

const TOKEN = `[[rules]]\nid = "token"\nregex = '''tok_([a-z0-9]{8})'''\nkeywords = ["tok_"]\n`;
const detector = detectorOf(TOKEN);

const base64 = (text: string, encoding: 'utf8' | 'utf16le' = 'utf8') => Buffer.from(text, encoding).toString('base64');

test('a secret in base64 has the position of its letters', () => {
  const encoded = base64('password is tok_abcd1234 ok');
  const [found] = scanObject(detector, `a\nb: ${encoded}\n`);
  assert.deepEqual([found?.secret, found?.encodings, found?.line, found?.column], ['abcd1234', ['base64'], 2, 4 + 16]);
  assert.deepEqual([found?.offset, found?.length], [5 + 16, 16]);
});

test('finds the URL alphabet, UTF-16 in base64, and base64 in base64 and in URLs', () => {
  const text = 'the ~~?>~ token: tok_abcd1234 ...';
  const encodings = (encoded: string) => scanObject(detector, `x = ${encoded} ;`).map((found) => found.encodings);
  assert.deepEqual(encodings(Buffer.from(text).toString('base64url')), [['base64']]);
  assert.deepEqual(encodings(base64(text, 'utf16le')), [['base64', 'utf-16le']]);
  assert.deepEqual(encodings(base64(`data: ${base64(text)} end`)), [['base64', 'base64']]);
  assert.deepEqual(encodings(`https://x/?q=tok%5Fabcd1234`), [['url']]);
  assert.deepEqual(encodings(`https://x/?q=${base64(text).replaceAll('d', '%64')}`), [['url', 'base64']]);
});

const wrapped = (text: string, width: number, lineBreak = '\n') =>
  base64(text)
    .match(new RegExp(`.{1,${width}}`, 'g'))!
    .join(lineBreak);

test('base64 wrapped over lines is decoded as one: a secret is found once, wherever lines end', () => {
  for (const [width, lineBreak] of [
    [76, '\n'],
    [64, '\r\n'],
    [64, '\n'],
  ] as const) {
    for (let before = 20; before < 140; before++) {
      const filler = 'text of some length, and more of it to come. '.repeat(5);
      for (const after of ['', ' and the rest of what was written there']) {
        const encoded = wrapped(`${filler.slice(0, before)}tok_abcd1234${after}`, width, lineBreak);
        for (const text of [encoded, `-----BEGIN-----${lineBreak}${encoded}${lineBreak}-----END-----${lineBreak}`]) {
          const found = scanObject(detector, text);
          assert.deepEqual(
            found.map(({ secret }) => secret),
            ['abcd1234'],
            `${width}, ${before} before: ${text}`,
          );
          const { offset, length } = found[0]!;
          const letters = text.slice(offset, offset + length).replaceAll(/[\r\n]/g, '');
          assert.ok(letters.length >= 16 && letters.length <= 20, letters);
          assert.match(text.slice(offset), /^[A-Za-z0-9+/]/);
        }
      }
    }
  }
});

test('long wrapped text: each secret is found once across line ends and pieces, even if encoded twice', () => {
  const secrets = Array.from({ length: 900 }, (_, i) => `s${String(1_000_000 + i)}`);
  const text = secrets.map((secret) => `a line of text with tok_${secret} in it;`).join(' ');
  for (const width of [64, 76]) {
    const found = scanObject(detector, `data:\n${wrapped(text, width)}\n`);
    assert.deepEqual(
      found.map(({ secret }) => secret),
      secrets,
    );
    const twice = scanObject(detector, wrapped(`so: ${base64(text.slice(0, 9000))} .`, width));
    const places = twice.map(({ secret }) => secret);
    assert.deepEqual(places, secrets.slice(0, places.length));
    assert.ok(places.length >= Math.floor(9000 / 41) - 1, String(places.length));
  }
});

test('decodeDepth limits how deep encodings are followed', () => {
  const nest = (text: string, levels: number): string =>
    levels === 0 ? text : base64(`text: ${nest(text, levels - 1)} end.`);
  for (const decodeDepth of [0, 1, 2, 3]) {
    const at = detectorOf(TOKEN, { decodeDepth });
    const found = [0, 1, 2, 3].filter((levels) => scanObject(at, ` ${nest('tok_abcd1234', levels)} `).length > 0);
    assert.deepEqual(found, [0, 1, 2, 3].slice(0, decodeDepth + 1));
  }
});

test('a whole object in UTF-16 is decoded, with or without a byte order mark; positions are bytes of the object', () => {
  for (const [encoding, mark] of [
    ['utf-16le', '\ufeff'],
    ['utf-16le', ''],
    ['utf-16be', '\ufeff'],
    ['utf-16be', ''],
  ] as const) {
    const bytes = Buffer.from(`${mark}first line\nkey tok_abcd1234`, 'utf16le');
    if (encoding === 'utf-16be') bytes.swap16();
    const [found] = scanObject(detector, bytes);
    assert.deepEqual([found?.encodings, found?.line, found?.column], [[encoding], 2, 5]);
    assert.deepEqual([found?.offset, found?.length], [(15 + mark.length) * 2, 24]);
  }
});

test('plain text is not found again in the decoded text around it', () => {
  assert.equal(scanObject(detector, 'a%20b tok_abcd1234 c%20d').length, 1);
});

test('a secret across pieces of a long run is found once', () => {
  const filler = 'lorem ipsum dolor sit amet, ';
  for (const before of [290, 330, 430, 440, 876]) {
    const text = `${filler.repeat(before)}tok_abcd1234 ${filler.repeat(900)}`;
    assert.equal(scanObject(detector, base64(text), { chunkBytes: 9000 }).length, 1, `after ${before}`);
  }
});

test('inline ignores on the line of the encoded text apply', () => {
  assert.equal(scanObject(detector, `${base64('password is tok_abcd1234 ok')} # heddle:allow`).length, 0);
});

test('decoders agree with those of the platform and map bytes to their source', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(60), (bytes, at) => {
      const letters = Buffer.from(bytes).toString('base64').replaceAll('=', '');
      const memory = Buffer.concat([Buffer.from(letters), Buffer.alloc(64)]);
      const length = decodeBase64(memory, 0, letters.length, letters.length);
      assert.deepEqual([...memory.subarray(letters.length, letters.length + length)], [...bytes]);
      const place = Math.min(at, bytes.length);
      const start = base64Source(place, false);
      assert.equal(start, Math.floor((place * 4) / 3));
    }),
  );
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', '%41', '%zz', '%', '%4', '/', '%7e')), (parts) => {
      const text = parts.join('');
      const memory = Buffer.concat([Buffer.from(text), Buffer.alloc(text.length)]);
      const length = decodeUrl(memory, 0, text.length, text.length);
      const expected = text.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) =>
        String.fromCharCode(parseInt(digits, 16)),
      );
      assert.equal(memory.toString('latin1', text.length, text.length + length), expected);
      assert.equal(urlSource(memory, 0, text.length, length), text.length);
    }),
  );
});

test('pieces divide a stretch of any length: each position belongs to exactly one, with its context', () => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(100_000), fc.array(fc.nat(100_000)), (start, length, stops) => {
      const cutter = new PieceCutter('base64', start);
      const seen = stops.sort((left, right) => left - right).filter((stop) => stop < length);
      const pieces = [...seen.flatMap((stop) => [...cutter.open(start + stop)]), ...cutter.close(start + length)];
      assert.deepEqual(pieces, [...new PieceCutter('base64', start).close(start + length)]);
      let next = start;
      for (const piece of pieces) {
        assert.equal(piece.ownStart, next);
        assert.ok(piece.end - piece.start <= PIECE_BYTES && (piece.start - start) % 4 === 0);
        next = piece.ownEnd;
      }
      assert.equal(next, start + length);
    }),
  );
});

test('base64 text is distinguished from names, paths and digests', () => {
  const plausible = (letters: string) => looksLikeText(Buffer.from(letters), 0);
  assert.ok(plausible(base64('some text here, readable')));
  assert.ok(plausible(base64('wide text', 'utf16le')));
  assert.ok(plausible(base64('\ufeffwith a mark')));
  for (const other of [
    'someLongIdentifierNameInCode',
    '/usr/local/share/applications',
    'd41d8cd98f00b204e9800998ecf8427e',
  ]) {
    assert.ok(!plausible(other), other);
  }
});

test('UTF-16 is recognized by its byte order mark or by zero bytes; other text and binary data is not', () => {
  const detect = (bytes: Buffer) => detectUtf16(bytes, 0, bytes.length);
  assert.equal(detect(Buffer.from('plain text')), null);
  assert.equal(detect(Buffer.alloc(64)), null);
  assert.equal(detect(Buffer.from('wide', 'utf16le')), 'utf-16le');
  assert.equal(detect(Buffer.from('wide', 'utf16le').swap16()), 'utf-16be');
  const memory = Buffer.concat([Buffer.from('aé\u4e16b', 'utf16le'), Buffer.alloc(4)]);
  assert.equal(decodeUtf16(memory, 0, 8, { bytes: memory, address: 8 }, 'utf-16le'), 4);
  assert.deepEqual([...memory.subarray(8)], [0x61, 0xff, 0xff, 0x62]);
});
