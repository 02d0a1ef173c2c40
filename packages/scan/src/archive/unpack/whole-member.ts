import { inflateRawSync } from 'node:zlib';

import type { Input } from '../byte-source.ts';
import { freeOwnBuffer } from './own-buffer.ts';
import type { Unpacker } from './unpacker.ts';

/** A file up to these sizes is unpacked in one call: a decompressor and its buffers cost more than such a file. */
const PACKED_BYTES_MAX = 32 * 1024;
const BYTES_MAX = 512 * 1024;

/** Node takes smaller buffers from a common one, of which no part can be freed. */
const OWN_BUFFER_BYTES = 32 * 1024;

/** Checksum and length behind the data of a gzip member. */
export const TRAILER_BYTES = 8;

/**
 * Unpacks the data of a small gzip file of one member. Returns null, and consumes nothing, for all others, and if the
 * data is damaged: piece by piece, most of it can be recovered.
 */
export async function unpackWhole(input: Input): Promise<Unpacker | null> {
  const rest = await input.peek(PACKED_BYTES_MAX + 1);
  if (rest.length > PACKED_BYTES_MAX || rest.length < TRAILER_BYTES) return null;
  const size = new DataView(rest.buffer, rest.byteOffset, rest.length).getUint32(rest.length - 4, true);
  if (size > BYTES_MAX) return null;
  try {
    const limits = { maxOutputLength: Math.max(1, size), chunkSize: Math.max(OWN_BUFFER_BYTES, size + 1) };
    const { buffer, engine } = inflateRawSync(rest, { ...limits, info: true }) as unknown as Unpacked;
    input.consume(engine.bytesWritten);
    return new WholeMember(buffer, limits.chunkSize);
  } catch {
    return null;
  }
}

/** The result with the option `info`, which the types of Node lack. */
interface Unpacked {
  buffer: Uint8Array;
  engine: { bytesWritten: number };
}

class WholeMember implements Unpacker {
  readonly #bytes: Uint8Array;
  readonly #bufferBytes: number;
  #isGiven = false;

  constructor(bytes: Uint8Array, bufferBytes: number) {
    this.#bytes = bytes;
    this.#bufferBytes = bufferBytes;
  }

  next(): Uint8Array | null {
    if (this.#isGiven || this.#bytes.length === 0) return null;
    this.#isGiven = true;
    return this.#bytes;
  }

  close(): void {
    this.#isGiven = true;
    freeOwnBuffer(this.#bytes, this.#bufferBytes);
  }
}
