import { ByteSource } from './byte-source.ts';

/** Bytes of an archive within another one that are kept in memory to read them at any offset. */
export const MEMORY_BYTES_MAX = 16 * 1024 * 1024;

export interface MemoryCopy {
  /** The object, readable at any offset; null if it is larger. */
  source: ByteSource | null;
  /** What was read of it. */
  head: Buffer;
}

/** Reads a whole object, as far as it may be kept in memory. */
export async function copyToMemory(source: ByteSource): Promise<MemoryCopy> {
  const pieces: Buffer[] = [];
  let length = 0;
  while (length <= MEMORY_BYTES_MAX) {
    const chunk = await source.peek(1);
    if (chunk.length === 0) {
      const head = Buffer.concat(pieces);
      return { source: memorySource(head), head };
    }
    pieces.push(Buffer.from(chunk));
    length += chunk.length;
    source.consume(chunk.length);
  }
  return { source: null, head: Buffer.concat(pieces) };
}

function memorySource(bytes: Buffer): ByteSource {
  return new ByteSource({
    size: bytes.length,
    access: 'range',
    read: (target, start, length, offset) => bytes.copy(target, start, offset, offset + length),
    close: () => undefined,
  });
}
