import { quoted } from '@heddle/base/parse/path';
import { CodeFault } from './code-fault.ts';

const PATH_BYTES_MAX = 1_000;
const SEGMENT_BYTES_MAX = 255;
const DEPTH_MAX = 40;
/**
 * Control and format characters (including bidirectional overrides), surrogates, and unassigned or private code points.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;

/**
 * Verifies that an untrusted file name denotes one place below its directory, on every system.
 *
 * @throws CodeFault that names the path and the reason
 */
export function checkCodePath(path: string): void {
  const fault = codePathFault(path);
  if (fault !== null) throw new CodeFault(`the file name ${quoted(path)} ${fault}`);
}

export function codePathFault(path: string): string | null {
  if (path === '') return 'is empty';
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return `is longer than ${PATH_BYTES_MAX} bytes`;
  if (!path.isWellFormed() || INVISIBLE.test(path)) return 'has invisible or invalid characters';
  if (path.normalize('NFC') !== path) return 'is not in Unicode normalization form C';
  if (path.startsWith('/')) return 'is absolute';
  if (path.includes('\\') || path.includes(':')) return 'has a backslash or a colon';
  const segments = path.split('/');
  if (segments.length > DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} folders`;
  for (const segment of segments) {
    if (segment === '' || segment === '.' || segment === '..') return `has the segment ${quoted(segment)}`;
    if (segment.endsWith('.') || segment.endsWith(' ')) return 'has a segment that ends with a dot or a space';
    if (Buffer.byteLength(segment) > SEGMENT_BYTES_MAX) return `has a segment longer than ${SEGMENT_BYTES_MAX} bytes`;
  }
  return null;
}

/** Returns a key that is equal for names that some file systems treat as the same. */
export function foldedPath(path: string): string {
  return path.normalize('NFKC').toLowerCase();
}
