import { createHash, type Hash } from 'node:crypto';
import { messageOf } from '@heddle/base/thrown';
import { backoffMs } from '@heddle/base/backoff';
import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import type { Problem } from '../../result.ts';
import { ObjectFault, type ObjectReader } from '../port.ts';
import { RegistryRefusal } from './registry-client.ts';

/** Attempts for a transfer that broke; each continues where the last one ended, and many bytes make it a new one. */
const TRIES_MAX = 4;
const PROGRESS_BYTES = 1024 * 1024;
const RETRY = { base_ms: 100, factor: 2, max_ms: 2_000, jitter: 0.5 };

export interface BlobRequest {
  path: string;
  digest: string;
  /** -1 if unknown. */
  size: number;
  /** Requests the blob from a byte on; resolves with the offset at which the answer begins. */
  fetch(from: number, signal: AbortSignal): Promise<{ response: Response; start: number }>;
  onClose(): void;
}

/** Reads a blob front to back as it arrives, and verifies its digest at the end. */
export class BlobReader implements ObjectReader {
  readonly access = 'carry';
  readonly size: number;
  readonly #request: BlobRequest;
  readonly #hash: Hash;
  readonly #abort = new AbortController();
  #body: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #piece: Uint8Array = new Uint8Array(0);
  /** Bytes received. */
  #received = 0;
  #tries = 0;
  /** Where the last attempt began. */
  #brokenAt = 0;
  #ended = false;
  #mismatch: Problem | undefined;

  constructor(request: BlobRequest) {
    this.#request = request;
    this.size = request.size;
    this.#hash = createHash(request.digest.slice(0, request.digest.indexOf(':')));
  }

  async read(target: Uint8Array, start: number, length: number): Promise<number> {
    while (this.#piece.length === 0) {
      if (this.#ended) return 0;
      await this.#receive();
    }
    const count = Math.min(length, this.#piece.length);
    target.set(this.#piece.subarray(0, count), start);
    this.#piece = this.#piece.subarray(count);
    return count;
  }

  interrupt(): void {
    this.#abort.abort();
  }

  async close(): Promise<Problem | undefined> {
    this.#abort.abort();
    try {
      await this.#body?.cancel();
    } catch {
      // The transfer broke; nothing of it is left.
    }
    this.#body = null;
    this.#request.onClose();
    return this.#mismatch;
  }

  /** Receives the next piece, or the end. */
  async #receive(): Promise<void> {
    for (;;) {
      try {
        this.#body ??= await this.#open();
        const { value, done } = await this.#body.read();
        if (!done) {
          this.#accept(value);
          return;
        }
        if (this.#received < this.size) throw new Error('the transfer ended early');
        if (this.size < 0) this.#verify();
        this.#ended = true;
        return;
      } catch (error) {
        this.#body = null;
        if (error instanceof ObjectFault) throw error;
        this.#tries = this.#received - this.#brokenAt < PROGRESS_BYTES ? this.#tries + 1 : 1;
        this.#brokenAt = this.#received;
        const isFinal = error instanceof RegistryRefusal && error.status < 500 && error.status !== 429;
        if (isFinal || this.#tries >= TRIES_MAX || this.#abort.signal.aborted) throw this.#faultOf(error);
        await systemClock.sleep(backoffMs(RETRY, this.#tries, () => systemRandom.next()));
      }
    }
  }

  async #open(): Promise<ReadableStreamDefaultReader<Uint8Array>> {
    const { response, start } = await this.#request.fetch(this.#received, this.#abort.signal);
    if (response.body === null) throw new Error('the answer is empty');
    const body = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    // A registry without range requests sends everything again.
    for (let skip = this.#received - start; skip > 0;) {
      const { value, done } = await body.read();
      if (done) throw new Error('the transfer ended early');
      if (value.length > skip) this.#accept(value.subarray(skip));
      skip -= value.length;
    }
    return body;
  }

  #accept(piece: Uint8Array): void {
    const { path, size } = this.#request;
    const excess = size < 0 ? 0 : this.#received + piece.length - size;
    const fitting = excess > 0 ? piece.subarray(0, piece.length - excess) : piece;
    this.#received += fitting.length;
    this.#hash.update(fitting);
    this.#piece = this.#piece.length === 0 ? fitting : Buffer.concat([this.#piece, fitting]);
    if (this.#received === size && fitting.length > 0) this.#verify();
    if (excess <= 0) return;
    const message = `the registry sends more than the ${size} bytes that the image declares; those were scanned`;
    this.#mismatch = { code: 'unreadable', path, message, extent: 'partial' };
    this.#ended = true;
  }

  #verify(): void {
    const { path, digest } = this.#request;
    if (digest.endsWith(`:${this.#hash.digest('hex')}`)) return;
    const message = `its content was scanned, but is not that of its digest ${digest}`;
    this.#mismatch = { code: 'unreadable', path, message, extent: 'partial' };
  }

  #faultOf(error: unknown): ObjectFault {
    const { path } = this.#request;
    const extent = this.#received > 0 ? 'partial' : 'skipped';
    const isGone = error instanceof RegistryRefusal && error.status === 404;
    if (isGone) return new ObjectFault({ code: 'vanished', path, message: 'the registry lacks it', extent }, error);
    return new ObjectFault(
      { code: 'unreadable', path, message: `it cannot be read: ${messageOf(error)}`, extent },
      error,
    );
  }
}
