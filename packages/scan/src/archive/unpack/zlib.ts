import { createInflateRaw, createZstdDecompress, type InflateRaw, type ZstdDecompress } from 'node:zlib';

import { CHUNK_BYTES, type Input } from '../byte-source.ts';
import { freeOwnBuffer } from './own-buffer.ts';
import { Damage, type Unpacker } from './unpacker.ts';

/** Decompresses one raw deflate stream or one Zstandard frame. Leaves what follows it in the input. */
export class ZlibUnpacker implements Unpacker {
  readonly #engine: InflateRaw | ZstdDecompress;
  readonly #input: Input;
  readonly #sliceBytes: number;
  #consumed = 0;
  #writing = false;
  #finishing = false;
  #closed = false;
  #ended = false;
  /** The last piece, which is not used any more when the next one is requested. */
  #given: Uint8Array | null = null;
  #failure: Error | null = null;
  #wake: () => void = () => undefined;

  /** For damaged data, delivers everything except the output of the last `sliceBytes` compressed bytes. */
  constructor(format: 'deflate' | 'zstd', input: Input, sliceBytes: number = SLICE_BYTES) {
    this.#input = input;
    this.#sliceBytes = sliceBytes;
    this.#engine =
      format === 'deflate'
        ? createInflateRaw({ chunkSize: CHUNK_BYTES })
        : createZstdDecompress({ chunkSize: CHUNK_BYTES });
    const wake = (): void => this.#wake();
    this.#engine.on('readable', wake);
    this.#engine.on('end', () => {
      this.#ended = true;
      wake();
    });
    this.#engine.on('error', (error) => {
      this.#failure = error;
      wake();
    });
  }

  async next(): Promise<Uint8Array | null> {
    this.#freeGiven();
    for (;;) {
      const piece = this.#engine.read() as Buffer | null;
      if (piece !== null) return (this.#given = piece);
      if (this.#failure !== null) throw damageOf(this.#failure);
      if (this.#ended) return null;
      if (this.#writing || this.#finishing) await new Promise<void>((resolve) => (this.#wake = resolve));
      else await this.#feed();
    }
  }

  async #feed(): Promise<void> {
    const chunk = await this.#input.peek(1);
    if (chunk.length === 0) {
      this.#finishing = true;
      this.#engine.end();
      return;
    }
    this.#writing = true;
    this.#engine.write(chunk.length > this.#sliceBytes ? chunk.subarray(0, this.#sliceBytes) : chunk, () => {
      if (this.#closed) return;
      // Fewer than were written if the stream ended among them.
      const { bytesWritten } = this.#engine;
      this.#input.consume(bytesWritten - this.#consumed);
      this.#consumed = bytesWritten;
      this.#writing = false;
      this.#wake();
    });
  }

  /** Frees the buffer of the last piece, unless the engine may still write into the rest of it. */
  #freeGiven(): void {
    const given = this.#given;
    if (given === null || (!this.#ended && given.byteOffset + given.length < CHUNK_BYTES)) return;
    freeOwnBuffer(given, CHUNK_BYTES);
    this.#given = null;
  }

  close(): void {
    this.#freeGiven();
    this.#closed = true;
    this.#engine.destroy();
  }
}

const SLICE_BYTES = 64 * 1024;

function damageOf(error: Error & { code?: string }): Damage {
  if (error.code === 'ZSTD_error_frameParameter_windowTooLarge')
    return new Damage('unpacking the data needs more memory than the limit of 128 MiB', 'unsupported_archive');
  if (error.code === 'Z_BUF_ERROR' || error.message === 'unexpected end of file')
    return new Damage('the data ends too early');
  return new Damage(`the data is damaged (${error.message})`);
}
