import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';

import { writeFully } from '@heddle/base/file-io';
import type { TextSink } from './report.ts';

const MEMORY_BYTES_MAX = 256 * 1024;

/**
 * Buffers text that belongs further down in a report: in memory while it is small, then in an unlinked file, so that
 * nothing is left behind however the process ends.
 */
export class Spool implements TextSink {
  readonly #memoryBytesMax: number;
  #pending: string[] = [];
  #pendingBytes = 0;
  #file: number | null = null;
  #fileBytes = 0;

  constructor(memoryBytesMax = MEMORY_BYTES_MAX) {
    this.#memoryBytesMax = memoryBytesMax;
  }

  get isEmpty(): boolean {
    return this.#fileBytes === 0 && this.#pendingBytes === 0;
  }

  write(text: string): void {
    this.#pending.push(text);
    this.#pendingBytes += text.length;
    if (this.#pendingBytes > this.#memoryBytesMax) this.#spill();
  }

  /** Writes everything to the sink, in order, and releases it. */
  drainTo(sink: TextSink): void {
    if (this.#file !== null) {
      this.#spill();
      const chunk = Buffer.allocUnsafe(64 * 1024);
      const decoder = new StringDecoder('utf8');
      for (let at = 0; at < this.#fileBytes;) {
        const read = readSync(this.#file, chunk, 0, chunk.length, at);
        if (read === 0) throw new Error('the temporary file of a report is shorter than the data written to it');
        sink.write(decoder.write(chunk.subarray(0, read)));
        at += read;
      }
      sink.write(decoder.end());
      this.close();
      return;
    }
    for (const text of this.#pending) sink.write(text);
    this.close();
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
    this.#fileBytes = 0;
    this.#pending = [];
    this.#pendingBytes = 0;
  }

  #spill(): void {
    this.#file ??= openNameless();
    const bytes = Buffer.from(this.#pending.join(''), 'utf8');
    writeFully(this.#file, bytes, this.#fileBytes);
    this.#fileBytes += bytes.length;
    this.#pending = [];
    this.#pendingBytes = 0;
  }
}

function openNameless(): number {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-report-'));
  try {
    return openSync(join(directory, 'spool'), 'wx+', 0o600);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
