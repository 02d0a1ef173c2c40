import type { Wrap } from './wrapped-runs.ts';

/** The six bits of each letter, in both alphabets; 255 for all other bytes. */
const VALUES = new Uint8Array(256).fill(255);
for (const alphabet of ['+/', '-_']) {
  const letters = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789${alphabet}`;
  for (let value = 0; value < 64; value++) VALUES[letters.charCodeAt(value)] = value;
}

export function isBase64Letter(byte: number): boolean {
  return byte >= 0 && VALUES[byte] !== 255;
}

/** Decodes lines of `width` letters, a multiple of four, separated by line breaks; returns how many bytes it wrote. */
export function decodeWrapped(
  bytes: Uint8Array,
  start: number,
  end: number,
  target: number,
  { width, break_bytes }: Wrap,
): number {
  let to = target;
  for (let at = start; at < end; at += width + break_bytes)
    to += decodeBase64(bytes, at, Math.min(at + width, end), to);
  return to - target;
}

/** Letters that are inspected to decide whether a run may be base64 text. */
export const BASE64_SAMPLE = 16;

/** Decodes letters in `[start, end)` of `bytes` to `target`; returns how many bytes it wrote. */
export function decodeBase64(bytes: Uint8Array, start: number, end: number, target: number): number {
  let to = target;
  let bits = 0;
  let held = 0;
  for (let at = start; at < end; at++) {
    bits = ((bits << 6) | VALUES[bytes[at]!]!) & 0xffffff;
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes[to++] = (bits >> held) & 0xff;
    }
  }
  return to - target;
}

/**
 * Returns whether letters may be base64 text, judging by the first twelve decoded bytes: ASCII, UTF-8 with a byte
 * order mark, or UTF-16. Names, paths and hexadecimal digits consist of base64 letters too; hardly any pass this
 * check.
 */
export function looksLikeText(bytes: Uint8Array, start: number): boolean {
  let zeros = 0;
  for (let at = start; at < start + BASE64_SAMPLE; at += 4) {
    const triple =
      (VALUES[bytes[at]!]! << 18) |
      (VALUES[bytes[at + 1]!]! << 12) |
      (VALUES[bytes[at + 2]!]! << 6) |
      VALUES[bytes[at + 3]!]!;
    if (at === start && (triple === 0xefbbbf || triple >> 8 === 0xfffe || triple >> 8 === 0xfeff)) return true;
    for (let shift = 16; shift >= 0; shift -= 8) {
      const byte = (triple >> shift) & 0xff;
      if (byte === 0) zeros++;
      else if (!isTextByte(byte)) return false;
    }
  }
  return zeros === 0 || zeros === 6;
}

function isTextByte(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** Returns the source offset of a decoded byte; with `end`, the offset after the last letter of what ends there. */
export function base64Source(decoded: number, end: boolean): number {
  return end ? Math.ceil((decoded * 4) / 3) : Math.floor((decoded * 4) / 3);
}
