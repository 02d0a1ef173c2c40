/**
 * Frees the buffer of bytes that are not used any more, if it is theirs alone: a buffer of exactly `bufferBytes`. The
 * collector would leave it until the heap of JavaScript fills, and run for buffers instead of objects.
 */
export function freeOwnBuffer({ buffer }: Uint8Array, bufferBytes: number): void {
  // Small buffers of Node are parts of a common one, which has another size.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bufferBytes) buffer.transfer(0);
}
