/** Reads a number of seven bits for each byte, the highest first; the ninth byte has eight. Larger ones are bigints. */
export function varint(bytes: Buffer, at: number): { value: number | bigint; end: number } | null {
  let value = 0;
  for (let index = 0; index < SMALL_BYTES; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) return null;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  let large = BigInt(value);
  for (let index = SMALL_BYTES; index < 9; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) return null;
    if (index === 8) return { value: BigInt.asIntN(64, (large << 8n) | BigInt(byte)), end: at + 9 };
    large = (large << 7n) | BigInt(byte & 0x7f);
    if (byte < 0x80) return { value: large, end: at + index + 1 };
  }
  return null;
}

/** Bytes of a number that is exact without a bigint. */
const SMALL_BYTES = 7;

/** Returns the bytes of a value by its serial type. */
export function sizeOf(type: number): number {
  if (type >= 12) return (type - (type % 2 === 0 ? 12 : 13)) / 2;
  return type === 7 ? 8 : (INTEGER_BYTES[type] ?? 0);
}

/** Bytes of integers by their serial type. */
const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8];
