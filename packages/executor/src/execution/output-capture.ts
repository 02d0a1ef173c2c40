import type { Readable } from 'node:stream';

import type { Clock } from '@heddle/base/clock';

const HEAD_BYTES_MAX = 32 * 1024;
const TAIL_BYTES_MAX = 32 * 1024;
/** Bytes after which reading pauses, so that a flood takes a bounded share of the executor's time. */
const BURST_BYTES = 4 * 1024 * 1024;
const REST_MS = 25;

/** Reads all output of a process and keeps its start and end. */
export class OutputCapture {
  #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #bytes = 0;

  /** Total bytes written. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns at most 64 KiB, with the number of bytes omitted in the middle. */
  get text(): string {
    const omitted = this.#bytes - this.#headBytes - this.#tailBytes;
    const gap = omitted > 0 ? `\n… ${omitted} bytes omitted …\n` : '';
    return `${Buffer.concat(this.#head).toString()}${gap}${Buffer.concat(this.#tail).toString()}`;
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    let rest = chunk;
    if (this.#headBytes < HEAD_BYTES_MAX) {
      // Copied, because a slice would retain the whole buffer.
      const kept = Buffer.from(rest.subarray(0, HEAD_BYTES_MAX - this.#headBytes));
      this.#head.push(kept);
      this.#headBytes += kept.length;
      rest = rest.subarray(kept.length);
    }
    if (rest.length === 0) return;
    const kept = Buffer.from(rest.subarray(-TAIL_BYTES_MAX));
    this.#tail.push(kept);
    this.#tailBytes += kept.length;
    if (this.#tailBytes > 2 * TAIL_BYTES_MAX) this.#trim();
  }

  #trim(): void {
    const tail = Buffer.from(Buffer.concat(this.#tail).subarray(-TAIL_BYTES_MAX));
    this.#tail = [tail];
    this.#tailBytes = tail.length;
  }
}

/**
 * Reads a stream to the end, pausing after bursts. A failed stream counts as ended.
 *
 * @returns a function that stops the pauses, for when the writer has ended and the rest fits into the kernel's buffer
 */
export function readThrottled(stream: Readable, clock: Clock, take: (chunk: Buffer) => void): () => void {
  let burst = 0;
  let isThrottled = true;
  stream.on('error', () => undefined);
  stream.on('data', (chunk: Buffer) => {
    take(chunk);
    burst += chunk.length;
    if (burst < BURST_BYTES || !isThrottled) return;
    burst = 0;
    stream.pause();
    clock.after(REST_MS, () => stream.resume());
  });
  return () => {
    isThrottled = false;
    stream.resume();
  };
}
