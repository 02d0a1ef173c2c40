import assert from 'node:assert/strict';
import { test } from 'node:test';

import { buildZip } from '../support/archive/corpus/zip.ts';
import { contents, MemoryReader, readArchive } from '../support/archive/reading.ts';
import { MarkupReader } from '../../src/archive/office/markup-reader.ts';
import { readAll } from '../support/source/conformance.ts';

const DOCUMENT = `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>
<w:p><w:r><w:t>token = MADE</w:t></w:r><w:proofErr w:type="x"/><w:r><w:rPr><w:b/></w:rPr><w:t>UP-</w:t></w:r><w:r><w:t>424242</w:t></w:r></w:p><w:p><w:r><w:t>a &lt; b &amp;&#38; c &#x1F600; &bogus; & d</w:t><w:tab/><w:t>e</w:t></w:r></w:p><w:hyperlink w:x="https://ada:MADEUP@example.org/?a=1&amp;b=2"/></w:body></w:document>`;
const TEXT =
  '\ntoken = MADEUP-424242\na < b && c \u{1f600} &bogus; & d\te\n\nhttps://ada:MADEUP@example.org/?a=1&b=2\n';

test('the text of documents, sheets and slides is read without its markup, part by part', async () => {
  const sheet = '<sst><si><r><t>MADE</t></r><r><t>UP-1</t></r></si><si><t>two</t></si></sst>';
  const cells = '<row><c t="inlineStr"><is><t>a</t></is></c><c><v>1</v></c></row>';
  const zip = buildZip([
    { name: '[Content_Types].xml', content: '<Types/>' },
    { name: 'word/document.xml', content: DOCUMENT },
    { name: 'xl/sharedStrings.xml', content: sheet },
    { name: 'xl/worksheets/sheet1.xml', content: cells },
    { name: 'ppt/slides/slide1.xml', content: '<a:p><a:r><a:t>one</a:t></a:r><a:r><a:t>-word</a:t></a:r></a:p>' },
    { name: 'content.xml', content: '<a/>' },
  ]);
  for (const access of ['range', 'carry'] as const) {
    const read = await readArchive('a.docx', zip, { access });
    assert.deepEqual(read.problems, []);
    assert.deepEqual(contents(read), {
      '[Content_Types].xml': '<Types/>',
      'word/document.xml (text)': TEXT,
      'xl/sharedStrings.xml (text)': 'MADEUP-1\ntwo\n',
      'xl/worksheets/sheet1.xml (text)': 'a\t1\t\n',
      'ppt/slides/slide1.xml (text)': 'one-word\n',
      'content.xml': '<a/>',
    });
  }
  const text = '<text:p>MADE<text:span>UP</text:span><text:line-break/>x</text:p>';
  const open = await readArchive('a.odt', buildZip([{ name: 'content.xml', content: text }]));
  assert.deepEqual(contents(open), { 'content.xml (text)': 'MADEUP\nx\n' });
});

test('the text is the same wherever its chunks end, and damaged markup loses nothing behind it', async () => {
  const bytes = Buffer.from(DOCUMENT);
  const whole = TEXT;
  for (let read_bytes = 1; read_bytes < 80; read_bytes++) {
    const reader = new MarkupReader(new MemoryReader(bytes, { access: 'carry', read_bytes }));
    assert.equal((await readAll(reader, 1 + (read_bytes % 7))).toString(), whole, `${read_bytes}`);
    await reader.close();
  }
  const read = async (text: string | Buffer): Promise<string> => {
    const reader = new MarkupReader(new MemoryReader(Buffer.from(text), { access: 'carry', read_bytes: 1000 }));
    const all = await readAll(reader);
    await reader.close();
    return all.toString('latin1');
  };
  assert.equal(await read('a<b'), 'a');
  assert.equal(await read('a&b'), 'a&b');
  assert.equal(await read(`a<${'x'.repeat(300_000)}`).then((text) => text.length < 300_000), true);
  assert.equal(await read(`<${'x'.repeat(70_000)}>MADEUP`).then((text) => text.endsWith('MADEUP')), true);
  const utf16 = Buffer.from('\ufeff<a>b</a>', 'utf16le');
  assert.equal(await read(utf16), utf16.toString('latin1'));
});
