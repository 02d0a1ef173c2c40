import { open, stat, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

import { readTail, rotatedFiles, syncDirectory } from './files.ts';
import { LINE_BYTES_MAX } from './line.ts';
import type { AuditEntry } from './port.ts';

/** How much of the log is kept. */
export interface AuditRetention {
  /** Bytes of all files together; null for as many as there are. */
  readonly bytesMax: number | null;
  /** How long a line is kept at least; files whose lines are all older go. Null for ever. */
  readonly ageMsMax: number | null;
}

export const KEEP_ALL: AuditRetention = { bytesMax: null, ageMsMax: null };

/** Files that have to go, oldest first, and the line that says so: what is left begins behind the one that it names. */
export interface Expendable {
  readonly paths: readonly string[];
  readonly entry: Extract<AuditEntry, { action: 'pruned' }>;
}

/**
 * The oldest of the rotated files, as many as the limits want gone; null where all may stay.
 *
 * @param currentBytes of the file that is written to, which always stays
 * @throws AuditLogDamaged where one of them was changed: it stays, as evidence, and so do those behind it
 */
export async function expendable(
  path: string,
  { bytesMax, ageMsMax }: AuditRetention,
  currentBytes: number,
  nowMs: number,
): Promise<Expendable | null> {
  if (bytesMax === null && ageMsMax === null) return null;
  const files = await Promise.all((await rotatedFiles(path)).map(async (each) => ({ each, ...(await sizeOf(each)) })));
  let total = files.reduce((sum, { size }) => sum + size, currentBytes);
  const paths: string[] = [];
  let last: { seq: number; hash: string } | null = null;
  for (const { each, size } of files) {
    const tail = await tailOf(each);
    const isOld = ageMsMax !== null && Date.parse(tail.at) < nowMs - ageMsMax;
    if (!isOld && (bytesMax === null || total <= bytesMax)) break;
    total -= size;
    paths.push(each);
    last = tail;
  }
  if (last === null) return null;
  const detail = `deleted as the settings say: ${paths.map((each) => basename(each)).join(', ')}`;
  return { paths, entry: { action: 'pruned', last_seq: last.seq, last_hash: last.hash, detail } };
}

/** Deletes files, oldest first: whatever ends it half way leaves a chain without a gap. */
export async function removeFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) await unlink(path);
  if (paths[0] !== undefined) await syncDirectory(dirname(paths[0]));
}

async function sizeOf(path: string): Promise<{ size: number }> {
  const { size } = await stat(path);
  return { size };
}

async function tailOf(path: string): Promise<{ seq: number; hash: string; at: string }> {
  await using handle = await open(path, 'r');
  const { head, at } = await readTail(handle, path, LINE_BYTES_MAX * 2);
  return { ...head, at };
}
