/** Fingerprints of failures: 64 bits, stored as a signed number, written as 16 hexadecimal digits. */
export const FINGERPRINT_PATTERN = '^[0-9a-f]{16}$';

export function fingerprintToText(stored: string): string {
  return BigInt.asUintN(64, BigInt(stored)).toString(16).padStart(16, '0');
}

export function fingerprintOfText(text: string): string {
  return BigInt.asIntN(64, BigInt(`0x${text}`)).toString();
}
