import type { Encoding } from '../../result.ts';

export type Utf16 = Extract<Encoding, 'utf-16le' | 'utf-16be'>;

/** Bytes at the start of a text that are inspected for UTF-16. */
export const UTF16_SAMPLE = 64;

/**
 * Detects UTF-16 by its byte order mark, or because nearly all of the first characters are ASCII with a zero byte on
 * the same side.
 */
export function detectUtf16(bytes: Uint8Array, start: number, length: number): Utf16 | null {
  if (length < 4) return null;
  if (bytes[start] === 0xff && bytes[start + 1] === 0xfe) return 'utf-16le';
  if (bytes[start] === 0xfe && bytes[start + 1] === 0xff) return 'utf-16be';
  const units = Math.min(length, UTF16_SAMPLE) >> 1;
  let little = 0;
  let big = 0;
  for (let at = start; at < start + units * 2; at += 2) {
    if (bytes[at + 1] === 0 && isText(bytes[at]!)) little++;
    if (bytes[at] === 0 && isText(bytes[at + 1]!)) big++;
  }
  if (little * 8 >= units * 7) return 'utf-16le';
  return big * 8 >= units * 7 ? 'utf-16be' : null;
}

function isText(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d);
}

/**
 * Decodes to one byte per unit, so that positions are easy to map: ASCII as it is, all else 0xff, which no ASCII rule
 * matches by chance. `start` is the first byte of a unit. The target may be the source itself. Returns how many bytes
 * it wrote.
 */
export function decodeUtf16(
  source: Uint8Array,
  start: number,
  end: number,
  target: { bytes: Uint8Array; address: number },
  encoding: Utf16,
): number {
  const low = encoding === 'utf-16le' ? 0 : 1;
  let to = target.address;
  for (let at = start; at + 1 < end; at += 2) {
    const byte = source[at + low]!;
    target.bytes[to++] = source[at + 1 - low] === 0 && byte < 0x80 ? byte : 0xff;
  }
  return to - target.address;
}
