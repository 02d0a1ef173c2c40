import type { ObjectReader } from '../port.ts';

/** Reads a whole object and closes it; returns null if it has more bytes than permitted. */
export async function readWhole(reader: ObjectReader, bytesMax: number): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  const piece = Buffer.alloc(64 * 1024);
  try {
    for (let offset = 0; offset <= bytesMax;) {
      const count = await reader.read(piece, 0, piece.length, offset);
      if (count === 0) return Buffer.concat(pieces);
      pieces.push(Buffer.from(piece.subarray(0, count)));
      offset += count;
    }
    return null;
  } finally {
    await reader.close();
  }
}
