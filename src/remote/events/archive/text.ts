import { CodeFault } from '../code-fault.ts';

/** @throws CodeFault where the bytes are not UTF-8: a name must mean one thing */
export function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CodeFault('a file name in the archive is not UTF-8');
  }
}

/** The bytes before the first NUL. */
export function beforeNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}
