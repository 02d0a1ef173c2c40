const PERCENT = 0x25;

function digit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** Returns the byte of an escape like `%2F`; -1 if there is none. */
function escapeAt(bytes: Uint8Array, at: number, end: number): number {
  if (bytes[at] !== PERCENT || at + 2 >= end) return -1;
  const high = digit(bytes[at + 1]!);
  const low = digit(bytes[at + 2]!);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/**
 * Decodes the escapes in `[start, end)` of `bytes` to `target` and copies all else; returns how many bytes it wrote.
 */
export function decodeUrl(bytes: Uint8Array, start: number, end: number, target: number): number {
  let to = target;
  for (let at = start; at < end; at++) {
    const escaped = escapeAt(bytes, at, end);
    bytes[to++] = escaped < 0 ? bytes[at]! : escaped;
    if (escaped >= 0) at += 2;
  }
  return to - target;
}

/** Returns how many bytes of `[start, end)` produced the first `decoded` decoded bytes. */
export function urlSource(bytes: Uint8Array, start: number, end: number, decoded: number): number {
  let at = start;
  for (let count = 0; count < decoded && at < end; count++) at += escapeAt(bytes, at, end) < 0 ? 1 : 3;
  return at - start;
}
