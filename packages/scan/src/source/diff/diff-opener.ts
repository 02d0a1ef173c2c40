import { closeSync, openSync, readSync } from 'node:fs';
import { problemOf } from '../faults.ts';
import { ObjectFault, type ObjectOpener, type ObjectReader } from '../port.ts';
import { DiffParser } from './diff-parser.ts';
import type { DiffSpec } from './diff.ts';

const READ_BYTES = 64 * 1024;
/** Lines before a hunk are empty ones, up to this number; later ones are counted from there. */
const EMPTY_LINES_MAX = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Opens files of a diff as they are after it, with all lines empty that it does not add: so lines keep their numbers. */
export class DiffOpener implements ObjectOpener {
  readonly #file: string;

  constructor({ file }: DiffSpec) {
    this.#file = file;
  }

  open({ path, locator }: { path: string; locator: string }): ObjectReader {
    const [from = 0, to = 0] = locator.split('-').map(Number);
    try {
      return new AddedLines(path, openSync(this.#file, 'r'), from, to);
    } catch (error) {
      throw new ObjectFault(problemOf(error, path), error);
    }
  }

  close(): void {
    // Each reader closes its own descriptor.
  }
}

class AddedLines implements ObjectReader {
  readonly size = -1;
  readonly access = 'carry';
  readonly #path: string;
  readonly #descriptor: number;
  #at: number;
  readonly #to: number;
  readonly #buffer = Buffer.allocUnsafe(READ_BYTES);
  readonly #parser: DiffParser;
  /** Pieces to return; a number stands for that many line breaks. */
  #pending: (Uint8Array | number)[] = [];
  #line = 1;
  #hasEnded = false;

  constructor(path: string, descriptor: number, from: number, to: number) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#at = from;
    this.#to = to;
    this.#parser = new DiffParser({
      hunk: (line) => this.#breakLines(Math.min(line, EMPTY_LINES_MAX) - this.#line),
      unchanged: () => this.#breakLines(1),
      added: (piece) => this.#pending.push(piece),
      addedEnd: () => this.#breakLines(1),
    });
  }

  read(target: Uint8Array, start: number, length: number): number {
    while (this.#pending.length === 0) {
      if (this.#hasEnded) return 0;
      this.#parseMore();
    }
    let written = 0;
    while (written < length && this.#pending.length > 0) {
      const piece = this.#pending[0]!;
      const size = typeof piece === 'number' ? piece : piece.length;
      const count = Math.min(size, length - written);
      if (typeof piece === 'number') target.fill(NEWLINE, start + written, start + written + count);
      else target.set(piece.subarray(0, count), start + written);
      written += count;
      if (count === size) this.#pending.shift();
      else this.#pending[0] = typeof piece === 'number' ? piece - count : piece.subarray(count);
    }
    return written;
  }

  close(): undefined {
    closeSync(this.#descriptor);
  }

  #breakLines(count: number): void {
    if (count <= 0) return;
    this.#line += count;
    const last = this.#pending.length - 1;
    const before = this.#pending[last];
    if (typeof before === 'number') this.#pending[last] = before + count;
    else this.#pending.push(count);
  }

  /** The pieces of the previous read have been returned, so that their memory is free. */
  #parseMore(): void {
    try {
      const count = readSync(this.#descriptor, this.#buffer, 0, Math.min(READ_BYTES, this.#to - this.#at), this.#at);
      this.#at += count;
      if (count > 0) this.#parser.push(this.#buffer.subarray(0, count));
      else {
        this.#parser.end();
        this.#hasEnded = true;
      }
    } catch (error) {
      throw new ObjectFault(problemOf(error, this.#path, 'partial'), error);
    }
  }
}
