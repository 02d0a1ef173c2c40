import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs';

import { HeddleError } from '@heddle/base/errors';
import { writeFully } from '@heddle/base/file-io';
import { messageOf } from '@heddle/base/thrown';
import { StateLock } from './state-lock.ts';

const READ_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** The position of a line in the file. */
export interface LinePlace {
  offset: number;
  length: number;
}

/**
 * An append-only file of lines. A line left incomplete by a killed process is truncated when the file is opened again.
 */
export class StateFile {
  readonly #path: string;
  readonly #lock: StateLock;
  readonly #descriptor: number;
  #size: number;
  #waiting: string[] = [];

  /** Opens the file, readable by its owner only since it holds secrets. Throws CONFLICT if another scan is using it. */
  constructor(path: string) {
    this.#path = path;
    this.#lock = new StateLock(path);
    try {
      this.#descriptor = openSync(path, 'a+', 0o600);
      const stats = fstatSync(this.#descriptor);
      if (!stats.isFile()) throw new Error('it is not a regular file');
      this.#size = stats.size;
    } catch (error) {
      this.#lock.release();
      throw error;
    }
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Yields the complete lines, in order. */
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
      if (count === 0) throw new Error('the state file shrank while it was being read');
      got += count;
    }
    return bytes.toString('utf8');
  }

  /** Truncates the file at `size`. */
  truncate(size: number): void {
    this.#written(() => ftruncateSync(this.#descriptor, size));
    this.#size = size;
  }

  append(line: string): void {
    this.#waiting.push(line, '\n');
  }

  /** Writes appended lines to the operating system, so that they survive a kill of the process. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const bytes = Buffer.from(this.#waiting.join(''), 'utf8');
    this.#waiting = [];
    this.#written(() => writeFully(this.#descriptor, bytes));
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

  /** A full disk is not a defect: the caller receives an error. */
  #written(write: () => void): void {
    try {
      write();
    } catch (error) {
      const why = messageOf(error);
      throw new HeddleError('VALIDATION_FAILED', `the state file ${this.#path} cannot be written: ${why}`, {
        cause: error,
      });
    }
  }
}
