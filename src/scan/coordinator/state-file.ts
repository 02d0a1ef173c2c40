import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';

import { HeddleError } from '../../domain/errors.ts';
import { StateLock } from './state-lock.ts';

const READ_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** Where a line stands in the file. */
export interface LinePlace {
  offset: number;
  length: number;
}

/** A file of lines that only grows. What a process that was killed left half written is cut off when it is opened again. */
export class StateFile {
  readonly #path: string;
  readonly #lock: StateLock;
  readonly #descriptor: number;
  #size: number;
  #waiting: string[] = [];

  /** Readable by its owner only: what it holds are secrets. Throws CONFLICT where another scan writes to it. */
  constructor(path: string) {
    this.#path = path;
    this.#lock = new StateLock(path);
    try {
      this.#descriptor = openSync(path, 'a+', 0o600);
      const stats = fstatSync(this.#descriptor);
      if (!stats.isFile()) throw new Error('it is no file');
      this.#size = stats.size;
    } catch (error) {
      this.#lock.release();
      throw error;
    }
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** The whole lines, in order. */
  *lines(): Generator<{ text: string; place: LinePlace }> {
    const block = Buffer.alloc(READ_BYTES);
    let rest: Buffer = Buffer.alloc(0);
    let offset = 0;
    for (let at = 0; ;) {
      const count = readSync(this.#descriptor, block, 0, READ_BYTES, at);
      if (count === 0) break;
      at += count;
      const bytes = Buffer.concat([rest, block.subarray(0, count)]);
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        yield { text: bytes.toString('utf8', start, end), place: { offset: offset + start, length: end - start } };
        start = end + 1;
      }
      rest = bytes.subarray(start);
      offset += start;
    }
  }

  read({ offset, length }: LinePlace): string {
    const bytes = Buffer.alloc(length);
    for (let got = 0; got < length;) {
      const count = readSync(this.#descriptor, bytes, got, length - got, offset + got);
      if (count === 0) throw new Error('the state file became shorter while it was read');
      got += count;
    }
    return bytes.toString('utf8');
  }

  /** Cuts off everything from `size` on. */
  truncate(size: number): void {
    this.#written(() => ftruncateSync(this.#descriptor, size));
    this.#size = size;
  }

  append(line: string): void {
    this.#waiting.push(line, '\n');
  }

  /** Hands what was appended to the system: a process that is killed afterwards has not lost it. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const bytes = Buffer.from(this.#waiting.join(''), 'utf8');
    this.#waiting = [];
    this.#written(() => {
      for (let written = 0; written < bytes.length;)
        written += writeSync(this.#descriptor, bytes, written, bytes.length - written);
    });
    this.#size += bytes.length;
  }

  close(): void {
    try {
      this.flush();
    } finally {
      closeSync(this.#descriptor);
      this.#lock.release();
    }
  }

  /** A disk that is full is no defect: whoever started the scan is told. */
  #written(write: () => void): void {
    try {
      write();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new HeddleError('VALIDATION_FAILED', `the state file ${this.#path} cannot be written: ${why}`, {
        cause: error,
      });
    }
  }
}
