import { quoted } from '../../domain/parse/path.ts';
import { CodeFault } from './code-fault.ts';

const PATH_BYTES_MAX = 1_000;
const SEGMENT_BYTES_MAX = 255;
const DEPTH_MAX = 40;
/** Control and format characters (among them those that turn the direction of text), and what is no character. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;

/**
 * Holds that a file's name, whoever wrote it, means one place below the directory it is unpacked to, on every system.
 *
 * @throws CodeFault that names the path and what is wrong with it
 */
export function checkCodePath(path: string): void {
  const fault = codePathFault(path);
  if (fault !== null) throw new CodeFault(`the file name ${quoted(path)} ${fault}`);
}

export function codePathFault(path: string): string | null {
  if (path === '') return 'is empty';
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return `is longer than ${PATH_BYTES_MAX} bytes`;
  if (!path.isWellFormed() || UNSEEN.test(path)) return 'has characters that cannot be seen, or are none';
  if (path.normalize('NFC') !== path) return 'is not in normal form C of Unicode';
  if (path.startsWith('/')) return 'is absolute';
  if (path.includes('\\') || path.includes(':')) return 'has a backslash or a colon';
  const segments = path.split('/');
  if (segments.length > DEPTH_MAX) return `is deeper than ${DEPTH_MAX} folders`;
  for (const segment of segments) {
    if (segment === '' || segment === '.' || segment === '..') return `has the step ${quoted(segment)}`;
    if (segment.endsWith('.') || segment.endsWith(' ')) return 'has a step that ends with a dot or a space';
    if (Buffer.byteLength(segment) > SEGMENT_BYTES_MAX) return `has a step longer than ${SEGMENT_BYTES_MAX} bytes`;
  }
  return null;
}

/** Equal for names that some file systems take for one. */
export function foldedPath(path: string): string {
  return path.normalize('NFKC').toLowerCase();
}
