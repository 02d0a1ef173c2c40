import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { deflateSync } from 'node:zlib';

import fc from 'fast-check';

import { MEMORY_BYTES_MAX } from '../../src/archive/memory-copy.ts';
import { PdfLexer } from '../../src/archive/pdf/values.ts';
import { buildZip } from '../support/archive/corpus/zip.ts';
import { briefly, contents, readArchive } from '../support/archive/reading.ts';

const CHROMIUM = readFileSync(join(import.meta.dirname, 'fixtures/chromium.pdf'));

interface Stream {
  dictionary: string;
  content: string | Buffer;
}

/** Builds a document from its objects, without the directory, which is not read. */
function buildPdf(objects: Readonly<Record<number, string | Stream>>, trailer = '<< /Root 1 0 R >>'): Buffer {
  const parts = Object.entries(objects).map(([number, object]) => {
    if (typeof object === 'string') return Buffer.from(`${number} 0 obj\n${object}\nendobj\n`, 'latin1');
    const content = Buffer.from(object.content);
    const dictionary = `<< /Length ${content.length} ${object.dictionary} >>`;
    return Buffer.concat([
      Buffer.from(`${number} 0 obj\n${dictionary}\nstream\n`),
      content,
      Buffer.from('\nendstream\nendobj\n'),
    ]);
  });
  return Buffer.concat([Buffer.from('%PDF-1.7\n'), ...parts, Buffer.from(`trailer\n${trailer}\n%%EOF\n`)]);
}

const flate = (content: string | Buffer, dictionary = ''): Stream => ({
  dictionary: `/Filter /FlateDecode ${dictionary}`,
  content: deflateSync(content),
});

const CONTENT = `BT /F1 12 Tf 72 700 Td (token = MADE) Tj 75 0 Td (UP-) Tj 20 0 Td <343234> Tj [(24) -20 (2) -500 (next)] TJ
0 -14 Td (a \\(b\\) \\101\\
c) Tj T* (d) ' /F2 9 Tf (raw) Tj ET q BI /W 1 ID \x00 EI Q BT /F1 12 Tf (e) Tj ET`;

const DOCUMENT = buildPdf({
  1: '<< /Type /Catalog /Pages 2 0 R >>',
  2: '<< /Type /Pages /Kids [3 0 R] /Resources << /Font << /F1 << /Subtype /Type1 >> /F2 << /Subtype /Type0 >> >> >> >>',
  3: '<< /Type /Page /Parent 2 0 R /Contents [4 0 R 5 0 R] /Annots [ << /A << /URI (https://ada:MADEUP@example.org) >> >> ] >>',
  4: flate(CONTENT),
  5: { dictionary: '/Filter /ASCIIHexDecode', content: '425420286c61737429 20546a204554>' },
  6: flate('10 0 11 32 << /Title <FEFF004D00410044> >> (packed string)', '/Type /ObjStm /N 2 /First 11'),
  7: '<< /Type /Filespec /F (notes.txt) /EF << /F 8 0 R >> >>',
  8: flate('attached MADEUP-1', '/Type /EmbeddedFile'),
  9: { dictionary: '/Type /Metadata /Subtype /XML', content: '<x>meta</x>' },
  12: { dictionary: '/Subtype /Image /Filter /DCTDecode', content: 'picture' },
  13: flate('BT (in a form) Tj ET', '/Subtype /Form'),
  14: { dictionary: '/Filter /LZWDecode', content: 'x' },
});

suite('PDF documents', () => {
  test('one of a browser is read by page: letters moved closer, runs of other fonts and their encodings are whole', async () => {
    for (const access of ['range', 'carry'] as const) {
      const read = await readArchive('a.pdf', CHROMIUM, { access });
      assert.deepEqual(read.problems, []);
      const { strings, ...pages } = contents(read);
      assert.deepEqual(pages, {
        'page 1': 'Runbook\ntoken = MADEUP-424242 and more\nlink',
        'page 2': 'second page, caf\u00e9 <x>',
      });
      assert.match(strings!, /^Title = A title$/m);
      assert.match(strings!, /^URI = https:\/\/example\.org\/\?key=linked$/m);
    }
  });

  test('pages, forms, attachments, metadata and packed objects are read; what is not is reported', async () => {
    const read = await readArchive('a.pdf', DOCUMENT);
    assert.deepEqual(briefly(read.problems), ['malformed_archive skipped a.pdf!object 14']);
    const { strings, ...rest } = contents(read);
    assert.deepEqual(rest, {
      'page 1': 'token = MADEUP-424242 next\na (b) Ac\nd\ne\nlast',
      'attachment notes.txt': 'attached MADEUP-1',
      'stream 9': '<x>meta</x>',
      'form 13': 'in a form',
      'stream 14': '',
    });
    assert.match(strings!, /^URI = https:\/\/ada:MADEUP@example\.org$/m);
    assert.match(strings!, /^Title = MAD$/m);
    assert.match(strings!, /^packed string$/m);
  });

  test('an attached archive is opened, an encrypted document is reported, a large one is scanned as it is', async () => {
    const zip = buildZip([{ name: 'a.env', content: 'KEY=1' }]);
    const attached = buildPdf({ 1: '<< /F (b.zip) /EF << /F 2 0 R >> >>', 2: flate(zip, '/Type /EmbeddedFile') });
    assert.equal(contents(await readArchive('a.pdf', attached, { nested: true }))['attachment b.zip!a.env'], 'KEY=1');
    const encrypted = buildPdf({ 1: '<< /Type /Catalog >>' }, '<< /Encrypt 9 0 R >>');
    assert.deepEqual(briefly((await readArchive('a.pdf', encrypted)).problems), ['encrypted skipped a.pdf']);
    const large = Buffer.concat([DOCUMENT, Buffer.alloc(MEMORY_BYTES_MAX)]);
    const read = await readArchive('a.pdf', large);
    assert.ok(read.entries[0]!.content!.equals(large));
    assert.deepEqual(read.problems, []);
  });

  test('text that begins like a document is no document', async () => {
    const read = await readArchive('a.pdf', Buffer.from('%PDF-1.4 is a format'));
    assert.deepEqual(briefly(read.problems), ['malformed_archive skipped a.pdf']);
  });

  test('bombs and loops end at the limits', async () => {
    const zeros = deflateSync(Buffer.alloc(64 * 1024 * 1024));
    const bomb = buildPdf(
      Object.fromEntries(
        Array.from({ length: 50 }, (_, i) => [i + 1, { dictionary: '/Filter /FlateDecode', content: zeros }]),
      ),
    );
    const stopped = await readArchive('a.pdf', bomb);
    assert.ok(stopped.problems.some(({ code }) => /^(?:ratio|archive_bytes)_budget$/.test(code)));
    assert.ok(stopped.unpacked_bytes < 300 * 1024 * 1024);
    const content = '(x) Tj '.repeat(100_000);
    const shared: Record<number, string | Stream> = { 1: { dictionary: '', content } };
    for (let page = 2; page < 2000; page++) shared[page] = '<< /Type /Page /Contents 1 0 R >>';
    const pages = await readArchive('a.pdf', buildPdf(shared));
    assert.deepEqual(pages.problems, []);
    assert.ok(pages.unpacked_bytes < 4 * content.length);
    const loops = buildPdf({
      1: '<< /Type /Page /Parent 1 0 R /Contents [2 0 R 1 0 R] >>',
      2: '3 0 R',
      3: '2 0 R',
      4: '['.repeat(100_000),
      5: '<<'.repeat(100_000),
    });
    assert.deepEqual((await readArchive('a.pdf', loops)).problems, []);
  });

  test('one that ends early or is changed anywhere is a problem at most', async () => {
    for (const bytes of [CHROMIUM, DOCUMENT]) {
      for (let length = 8; length < bytes.length; length += 1 + Math.floor(bytes.length / 50))
        await readArchive('a.pdf', bytes.subarray(0, length), { format: 'pdf' });
      const change = fc.record({ at: fc.nat(bytes.length - 1), byte: fc.nat(255) });
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
          const changed = Buffer.from(bytes);
          for (const { at, byte } of changes) changed[at] = byte;
          const { problems } = await readArchive('a.pdf', changed, { format: 'pdf' });
          assert.ok(problems.every(({ code }) => code !== 'unreadable'));
        }),
        { numRuns: Number(process.env['HEDDLE_PROPERTY_RUNS'] ?? 60) },
      );
    }
  });

  test('any text is read as values to its end', () => {
    const piece = fc.constantFrom(
      '<<',
      '>>',
      '<',
      '>',
      '(',
      ')',
      '[',
      ']',
      '/',
      '\\',
      '%',
      '1 0 R',
      ' ',
      '\n',
      '41',
      'obj',
      '{',
      '#4',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
        const lexer = new PdfLexer(pieces.join(''));
        for (let before = -1; lexer.next() !== null; before = lexer.at) assert.ok(lexer.at > before);
        assert.equal(lexer.at, lexer.text.length);
      }),
    );
  });
});
