import { writeSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** Writes all bytes, at the file's position or at a given one, however many calls that takes. */
export function writeFully(descriptor: number, bytes: Uint8Array, position: number | null = null): void {
  for (let at = 0; at < bytes.length;)
    at += writeSync(descriptor, bytes, at, bytes.length - at, position === null ? null : position + at);
}

/** Reads `length` bytes from a position on, or fewer if the file ends before. */
export async function readFully(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/** Makes created, renamed and removed names of a directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path);
  await directory.sync();
}
