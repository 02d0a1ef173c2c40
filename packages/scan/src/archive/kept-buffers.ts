/** Lengths of kept buffers, in bytes. */
const LENGTHS = [4 * 1024, 16 * 1024, 64 * 1024, 256 * 1024] as const;

/** Bytes of a thread's unused buffers of one length. */
const KEPT_BYTES_MAX = 1024 * 1024;

const kept = new Map<number, Uint8Array[]>(LENGTHS.map((length) => [length, []]));

/**
 * Returns a buffer of at least `length` bytes with arbitrary content, or of `lengthMax` if that is less. A tree of small
 * archives needs two for each: left to the collector, thousands of them would wait for it.
 */
export function takeBuffer(length: number, lengthMax: number): Uint8Array {
  const rounded = LENGTHS.find((each) => each >= length) ?? length;
  if (rounded > lengthMax) return new Uint8Array(lengthMax);
  return kept.get(rounded)?.pop() ?? new Uint8Array(rounded);
}

/** Takes back a buffer that is not used any more. */
export function giveBackBuffer(buffer: Uint8Array): void {
  const buffers = kept.get(buffer.length);
  if (buffers !== undefined && (buffers.length + 1) * buffer.length <= KEPT_BYTES_MAX) buffers.push(buffer);
}
