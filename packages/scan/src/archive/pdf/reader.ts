import type { ByteSource } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import { copyToMemory } from '../memory-copy.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import { RawObject } from '../raw-object.ts';
import { ObjectFault } from '../../source/port.ts';
import { BytesUnpacker, LazyUnpacker } from '../unpack/unpacker.ts';
import { PdfDocument, type PdfObject } from './document.ts';
import { fontTextOf, pageText, type FontText } from './page-text.ts';
import {
  humanText,
  isArray,
  isDictionary,
  nameOf,
  type PdfDictionary,
  type PdfValue,
  referenceOf,
  stringOf,
} from './values.ts';

const LEVELS_MAX = 32;
const STRING_CHARACTERS_MAX = 64 * 1024;

/** A text or a stream of a document. */
interface Part {
  name: string;
  read: () => Uint8Array;
}

/** Opens a PDF file, which is kept in memory; a larger one is scanned as it is. */
export async function openPdf(
  source: ByteSource,
  budget: ArchiveBudget,
  close: () => Promise<void>,
): Promise<ArchiveReader> {
  const { source: copy, head } = await copyToMemory(source);
  if (copy === null) return new RawObject('pdf', head, source, budget, close);
  const { path } = budget.context;
  const document = new PdfDocument(head, {
    unpacked: (packedBytes, bytes) => {
      budget.consume(packedBytes);
      budget.charge(bytes);
      budget.check(path, true);
    },
    failed: (object, message) =>
      budget.report({ code: 'malformed_archive', path: `${path}!object ${object}`, message, extent: 'skipped' }),
  });
  if (document.objects.length === 0) {
    const message = 'the document has no objects';
    throw new ObjectFault({ code: 'malformed_archive', path, message, extent: 'skipped' });
  }
  if (document.isEncrypted) {
    const message = 'the document is encrypted, which an empty password does too';
    throw new ObjectFault({ code: 'encrypted', path, message, extent: 'skipped' });
  }
  budget.consume(head.length);
  return new PdfReader(document, budget, close);
}

/** Reads the strings of a document, the text of its pages, its attachments and its other streams. */
class PdfReader implements ArchiveReader {
  readonly format = 'pdf';
  readonly close: () => Promise<void>;
  readonly #document: PdfDocument;
  readonly #budget: ArchiveBudget;
  readonly #fonts = new Map<PdfDictionary, FontText>();
  readonly #parts: Iterator<Part>;

  constructor(document: PdfDocument, budget: ArchiveBudget, close: () => Promise<void>) {
    this.#document = document;
    this.#budget = budget;
    this.close = close;
    this.#parts = this.#partsOf();
  }

  next(): Promise<ArchiveEntry | null> {
    return Promise.resolve().then(() => {
      const part = this.#parts.next();
      return part.done === true ? null : this.#entry(part.value);
    });
  }

  #entry({ name: shown, read }: Part): ArchiveEntry {
    const budget = this.#budget;
    budget.countEntry();
    const { name, path } = admitName(budget, Buffer.from(shown), 'latin1');
    const { entryBytesMax } = budget.limits;
    const open = (): EntryContent => {
      const unpacker = new LazyUnpacker(() => Promise.resolve(new BytesUnpacker(read())));
      return new EntryContent({ path, size: -1, unpacker, budget, entryBytesMax });
    };
    return { name, kind: 'file', size_hint: -1, open };
  }

  *#partsOf(): Generator<Part> {
    const { objects } = this.#document;
    yield { name: 'strings', read: () => Buffer.from(objects.map(({ value }) => stringsIn(value, '', 0)).join('')) };
    const covered = new Set<PdfObject>();
    const attachments = new Map<PdfObject, string>();
    let pages = 0;
    for (const { value } of objects) {
      if (!isDictionary(value)) continue;
      this.#nameAttachment(value, attachments);
      const map = this.#document.object(value.get('ToUnicode'));
      if (map !== null) covered.add(map);
      if (nameOf(value.get('Type')) !== 'Page') continue;
      // What several pages share, such as a watermark, is text of the first of them.
      const contents = this.#contentsOf(value).filter((content) => !covered.has(content));
      for (const content of contents) covered.add(content);
      yield { name: `page ${(pages += 1)}`, read: () => this.#text(contents, this.#inherited(value)) };
    }
    for (const object of objects) {
      const { value, number } = object;
      if (object.stream === null || covered.has(object) || !isDictionary(value) || isOfNoUse(value)) continue;
      const isForm = nameOf(value.get('Subtype')) === 'Form';
      const attachment = attachments.get(object);
      if (isForm) yield { name: `form ${number}`, read: () => this.#text([object], value.get('Resources')) };
      else
        yield {
          name: attachment === undefined ? `stream ${number}` : `attachment ${attachment}`,
          read: () => this.#document.bytesOf(object) ?? new Uint8Array(0),
        };
    }
  }

  #contentsOf(page: PdfDictionary): PdfObject[] {
    const named = page.get('Contents');
    const list = this.#document.resolve(named);
    const references = isArray(list) ? list : named === undefined ? [] : [named];
    return references.flatMap((each) => this.#document.object(each) ?? []);
  }

  /** Returns the resources of a page, or of the part of the tree that it belongs to. */
  #inherited(page: PdfDictionary): PdfValue | undefined {
    let at: PdfDictionary | null = page;
    for (let level = 0; at !== null && level < LEVELS_MAX; level++) {
      if (at.has('Resources')) return at.get('Resources');
      at = this.#document.dictionary(at.get('Parent'));
    }
    return undefined;
  }

  #text(contents: readonly PdfObject[], resources: PdfValue | undefined): Buffer {
    const document = this.#document;
    const fonts = document.dictionary(document.dictionary(resources)?.get('Font'));
    const content = contents.map((each) => document.bytesOf(each)?.toString('latin1') ?? '').join('\n');
    return Buffer.from(pageText(content, (name) => this.#fontText(document.dictionary(fonts?.get(name)))));
  }

  #fontText(font: PdfDictionary | null): FontText {
    if (font === null) return (codes) => codes;
    const known = this.#fonts.get(font);
    if (known !== undefined) return known;
    const map = this.#document.object(font.get('ToUnicode'));
    const mapped = map === null ? null : fontTextOf(this.#document.bytesOf(map)?.toString('latin1') ?? '');
    // Codes of a composite font are glyphs, which mean nothing by themselves.
    const isComposite = nameOf(font.get('Subtype')) === 'Type0';
    const text = mapped ?? (isComposite ? () => '' : (codes: string) => codes);
    this.#fonts.set(font, text);
    return text;
  }

  #nameAttachment(value: PdfDictionary, attachments: Map<PdfObject, string>): void {
    const files = this.#document.dictionary(value.get('EF'));
    const name = stringOf(this.#document.resolve(value.get('UF') ?? value.get('F')));
    const file = this.#document.object(files?.get('F') ?? files?.get('UF'));
    if (file !== null && name !== null) attachments.set(file, humanText(name));
  }
}

/** Pictures, fonts, and the directory and objects of the document itself, whose strings are read. */
function isOfNoUse(value: PdfDictionary): boolean {
  const [type, subtype] = [nameOf(value.get('Type')), nameOf(value.get('Subtype'))];
  return (
    type === 'ObjStm' ||
    type === 'XRef' ||
    subtype === 'Image' ||
    value.has('Length1') ||
    /^(?:Type1C|CIDFontType0C|OpenType)$/.test(subtype ?? '')
  );
}

/** Returns the strings in a value, each on a line with the key that leads to it. */
function stringsIn(value: PdfValue, key: string, depth: number): string {
  if (depth > LEVELS_MAX || typeof value === 'number' || referenceOf(value) !== null) return '';
  const text = stringOf(value);
  if (text !== null)
    return text.length > STRING_CHARACTERS_MAX ? '' : `${key === '' ? '' : `${key} = `}${humanText(text)}\n`;
  if (isArray(value)) return value.map((each) => stringsIn(each, key, depth + 1)).join('');
  if (!isDictionary(value)) return '';
  return Array.from(value, ([name, member]) => stringsIn(member, name, depth + 1)).join('');
}
