import { closeSync, openSync, readSync } from 'node:fs';

import { refused } from '@heddle/base/terminal/refusal';

/** Bytes at the beginning of an input that are searched for a diff. */
const HEAD_BYTES = 1024 * 1024;

/** A line of a diff, or of git where it has no diff to show: of binary files, of changed modes, of empty commits. */
const DIFF_LINE = /^(?:diff |--- |@@|Index: |Binary files |Only in |commit [0-9a-f]{7})/m;

/**
 * Refuses an input without a diff, in which nothing would be found. An empty one is valid: nothing has changed.
 *
 * @param name as given on the command line
 */
export function refuseNoDiff(file: string, name: string): void {
  const head = headOf(file);
  // A longer one may have its diff later.
  if (head === null || head.length === HEAD_BYTES || head.trim() === '' || DIFF_LINE.test(head)) return;
  throw refused(
    `--diff ${name}: contains no diff; it must be in the unified format, as of git diff, or scan it as a path`,
  );
}

/** Returns null for a file that cannot be read, which is refused as a source. */
function headOf(file: string): string | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    return null;
  }
  try {
    const bytes = Buffer.allocUnsafe(HEAD_BYTES);
    return bytes.toString('latin1', 0, readSync(descriptor, bytes, 0, HEAD_BYTES, 0));
  } catch {
    return null;
  } finally {
    closeSync(descriptor);
  }
}
