import { inflateRawSync } from 'node:zlib';

import { LimitedInput, MeteredInput, type ByteSource, type Input } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { createUnpacker } from '../compressed.ts';
import { LzmaStreamUnpacker } from '../unpack/lzma-stream.ts';
import { Damage, StoredUnpacker, takeBytes, type Unpacker } from '../unpack/unpacker.ts';
import { ZlibUnpacker } from '../unpack/zlib.ts';
import { FLAG, type ZipRecord } from './records.ts';

export const METHOD = { stored: 0, deflate: 8, bzip2: 12, lzma: 14, zstd_old: 20, zstd: 93, xz: 95, aes: 99 } as const;

const REFUSED_METHODS: Readonly<Record<number, string>> = {
  1: 'shrink',
  6: 'implode',
  9: 'Deflate64',
  97: 'WavPack',
  98: 'PPMd',
};

/** Entries up to these sizes are unpacked in one call. */
const ONE_CALL_PACKED_BYTES = 192 * 1024;
const ONE_CALL_BYTES = 1024 * 1024;

/** Throws `Damage` with the reason if an entry cannot be unpacked at all. */
export function checkReadable({ flags, method }: ZipRecord): void {
  if ((flags & (FLAG.encrypted | FLAG.strong_encryption | FLAG.masked)) !== 0 || method === METHOD.aes)
    throw new Damage('the entry is encrypted', 'encrypted');
  if ((Object.values(METHOD) as number[]).includes(method)) return;
  const name = REFUSED_METHODS[method] ?? `method ${method}`;
  throw new Damage(`the entry is compressed with ${name}, which is not supported`, 'unsupported_archive');
}

/** Unpacks an entry of known compressed size, from the start of its data. */
export async function unpackEntry(source: ByteSource, record: ZipRecord, budget: ArchiveBudget): Promise<Unpacker> {
  checkReadable(record);
  const { method, packed_size, size } = record;
  if (method === METHOD.deflate && packed_size <= ONE_CALL_PACKED_BYTES && size <= ONE_CALL_BYTES) {
    const packed = await source.peek(packed_size);
    if (packed.length >= packed_size) {
      budget.consume(packed_size);
      return new OneCallUnpacker(packed.subarray(0, packed_size), size);
    }
  }
  const input = new MeteredInput(new LimitedInput(source, packed_size), budget);
  if (method === METHOD.stored) return new StoredUnpacker(input, packed_size);
  if (method === METHOD.deflate) return new ZlibUnpacker('deflate', input);
  if (method === METHOD.lzma) return await lzmaOf(input, record);
  if (method === METHOD.bzip2) return createUnpacker('bzip2', input);
  return createUnpacker(method === METHOD.xz ? 'xz' : 'zstd', input);
}

/** The data begins with a version and the parameters. */
async function lzmaOf(input: Input, { flags, size }: ZipRecord): Promise<Unpacker> {
  const head = Buffer.from(await takeBytes(input, 9, "the entry's header"));
  if (head.readUInt16LE(2) !== 5) throw new Damage("the entry's header is damaged");
  const hasMarker = (flags & FLAG.lzma_end_marker) !== 0;
  const dictionaryBytes = head.readUInt32LE(5);
  return new LzmaStreamUnpacker(input, { properties: head[4]!, dictionaryBytes, size: hasMarker ? Infinity : size });
}

/** Unpacks a small entry in one call, which avoids most of the setup; on failure restarts piece by piece. */
class OneCallUnpacker implements Unpacker {
  #packed: Uint8Array | null;
  readonly #size: number;
  #pieces: ZlibUnpacker | null = null;

  constructor(packed: Uint8Array, size: number) {
    this.#packed = packed;
    this.#size = size;
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    if (this.#pieces !== null) return this.#pieces.next();
    const packed = this.#packed;
    if (packed === null) return null;
    this.#packed = null;
    try {
      const limits = { maxOutputLength: Math.max(1, this.#size), chunkSize: Math.max(64, this.#size + 1) };
      const bytes = inflateRawSync(packed, limits);
      return bytes.length === 0 ? null : bytes;
    } catch {
      // Damaged or larger than declared: small pieces recover as much as possible.
      this.#pieces = new ZlibUnpacker('deflate', new MemoryInput(packed.slice()), 4096);
      return this.#pieces.next();
    }
  }

  close(): void {
    this.#packed = null;
    this.#pieces?.close();
  }
}

class MemoryInput implements Input {
  #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  peek(): Promise<Uint8Array> {
    return Promise.resolve(this.#bytes);
  }

  consume(length: number): void {
    this.#bytes = this.#bytes.subarray(length);
  }
}
