import { ByteSource } from '../byte-source.ts';
import { ObjectFault, type ObjectReader } from '../../source/port.ts';
import type { Directory } from './end-record.ts';
import {
  DIRECTORY_BYTES,
  directoryLength,
  parseDirectory,
  SIGNATURE,
  signatureOf,
  type DirectoryRecord,
} from './records.ts';

const CHUNK_BYTES = 200 * 1024;

/** Iterates over the lines of a zip file's directory, with lookahead. */
export class DirectoryLines {
  readonly #path: string;
  readonly #directory: Directory;
  readonly #source: ByteSource;
  readonly #ahead: DirectoryRecord[] = [];
  #fault: ObjectFault | null = null;
  #taken = 0;

  constructor(reader: ObjectReader, directory: Directory, path: string) {
    this.#source = new ByteSource(reader, CHUNK_BYTES);
    this.#directory = directory;
    this.#path = path;
    this.restart();
  }

  /** Lines that were consumed. */
  get taken(): number {
    return this.#taken;
  }

  /** Returns to the first line. */
  restart(): void {
    this.#source.seek(this.#directory.start);
    this.#ahead.length = this.#taken = 0;
    this.#fault = null;
  }

  /** Returns the next line; null after the last. Rejects with `ObjectFault` if the directory is damaged. */
  async next(): Promise<DirectoryRecord | null> {
    if (this.#ahead.length === 0 && this.#fault !== null) throw this.#fault;
    const record = this.#ahead.shift() ?? (await this.#read());
    if (record !== null) this.#taken++;
    return record;
  }

  /** Returns up to `count` of the following lines. Damage among them is reported when it is reached. */
  async ahead(count: number): Promise<readonly DirectoryRecord[]> {
    try {
      while (this.#ahead.length < count && this.#fault === null) {
        const record = await this.#read();
        if (record === null) break;
        this.#ahead.push(record);
      }
    } catch (error) {
      if (!(error instanceof ObjectFault)) throw error;
      this.#fault = error;
    }
    return this.#ahead;
  }

  async #read(): Promise<DirectoryRecord | null> {
    const source = this.#source;
    if (source.position >= this.#directory.end) return null;
    const head = await source.peek(DIRECTORY_BYTES);
    if (head.length < DIRECTORY_BYTES || signatureOf(head) !== SIGNATURE.directory) throw this.#damage();
    const length = directoryLength(head);
    const bytes = await source.peek(length);
    if (bytes.length < length) throw this.#damage();
    source.consume(length);
    return parseDirectory(bytes);
  }

  #damage(): ObjectFault {
    const count = this.#taken + this.#ahead.length;
    const message = `the archive's directory is damaged after ${count} entries`;
    const extent = count > 0 ? 'partial' : 'skipped';
    return new ObjectFault({ code: 'malformed_archive', path: this.#path, message, extent });
  }
}
