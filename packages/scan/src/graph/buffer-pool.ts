import { BUFFER_LEN_MAX } from './limits.ts';
import { live } from './live.ts';

export interface BufferPoolOptions {
  /** Maximum number of buffers. */
  buffers_max: number;
  /** Bytes of each, at most BUFFER_LEN_MAX. */
  buffer_bytes: number;
  allocate(length: number): Uint8Array;
}

/** A borrowed buffer: one owner at a time, released exactly once. */
export class BufferHandle implements Disposable {
  readonly bytes: Uint8Array;
  #giveBack: ((bytes: Uint8Array) => void) | null;

  constructor(bytes: Uint8Array, giveBack: (bytes: Uint8Array) => void) {
    this.bytes = bytes;
    this.#giveBack = giveBack;
    live.buffers += 1;
  }

  [Symbol.dispose](): void {
    const giveBack = this.#giveBack;
    if (giveBack === null) throw new Error('buffer: this handle is already released');
    this.#giveBack = null;
    live.buffers -= 1;
    giveBack(this.bytes);
  }
}

/** A capped pool of buffers of one size, allocated on demand and kept. */
export class BufferPool {
  readonly #options: BufferPoolOptions;
  readonly #free: Uint8Array[] = [];
  readonly #giveBack = (bytes: Uint8Array): void => void this.#free.push(bytes);
  #made = 0;

  constructor(options: BufferPoolOptions) {
    if (!(options.buffer_bytes >= 1 && options.buffer_bytes <= BUFFER_LEN_MAX))
      throw new RangeError(`buffers: ${options.buffer_bytes} bytes are not between 1 and ${BUFFER_LEN_MAX}`);
    if (options.buffers_max < 1) throw new RangeError('buffers: at least one is needed');
    this.#options = options;
  }

  /** Buffers on loan. */
  get inUse(): number {
    return this.#made - this.#free.length;
  }

  get hasFree(): boolean {
    return this.#free.length > 0 || this.#made < this.#options.buffers_max;
  }

  /** Returns a buffer with arbitrary content, or null while all are on loan. */
  tryAcquire(): BufferHandle | null {
    const bytes = this.#free.pop() ?? this.#make();
    return bytes === null ? null : new BufferHandle(bytes, this.#giveBack);
  }

  #make(): Uint8Array | null {
    if (this.#made >= this.#options.buffers_max) return null;
    this.#made += 1;
    return this.#options.allocate(this.#options.buffer_bytes);
  }
}
