/** Hashes of 64 bits, of failures and of slots: stored as signed numbers, shown as 16 hexadecimal digits. */
export const HASH_PATTERN = '^[0-9a-f]{16}$';

export function hashToText(stored: string): string {
  return BigInt.asUintN(64, BigInt(stored)).toString(16).padStart(16, '0');
}

export function hashOfText(text: string): string {
  return BigInt.asIntN(64, BigInt(`0x${text}`)).toString();
}
