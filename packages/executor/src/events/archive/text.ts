import { CodeFault } from '../code-fault.ts';

/** Decodes a name. @throws CodeFault if it is not UTF-8, because it must be unambiguous */
export function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CodeFault('a file name in the archive is not UTF-8');
  }
}

/** Returns the bytes before the first NUL. */
export function beforeNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}
