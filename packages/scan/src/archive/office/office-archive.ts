import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import { MarkupReader } from './markup-reader.ts';

/** Parts with the text of documents, sheets and slides. */
const OPEN_XML =
  /^(?:word\/(?:document|footnotes|endnotes|comments|header\d*|footer\d*|glossary\/document)|xl\/(?:sharedStrings|comments\d*|worksheets\/[^/]+)|ppt\/(?:slides|notesSlides|comments)\/[^/]+)\.xml$/;
const OPEN_DOCUMENT = /^(?:Object \d+\/)?(?:content|styles)\.xml$/;

/** Reads the parts of office documents that contain text without their markup; other entries are those of the zip file. */
export class OfficeArchive implements ArchiveReader {
  readonly format = 'zip';
  readonly #zip: ArchiveReader;
  readonly #isOpenDocument: boolean;

  constructor(zip: ArchiveReader, path: string) {
    this.#zip = zip;
    this.#isOpenDocument = /\.(?:od[tspg]|ot[tspg])$/i.test(path);
  }

  async next(): Promise<ArchiveEntry | null> {
    const entry = await this.#zip.next();
    if (entry === null || entry.kind !== 'file' || !this.#hasText(entry.name)) return entry;
    // Its name no longer ends like that of XML.
    return { ...entry, name: `${entry.name} (text)`, open: () => new MarkupReader(entry.open()) };
  }

  #hasText(name: string): boolean {
    return OPEN_XML.test(name) || (this.#isOpenDocument && OPEN_DOCUMENT.test(name));
  }

  close(): void | Promise<void> {
    return this.#zip.close();
  }
}
