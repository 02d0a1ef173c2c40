import { open, stat, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

import { syncDirectory } from '@heddle/base/file-io';
import { readTail, rotatedFiles } from './files.ts';
import { LINE_BYTES_MAX } from './line.ts';
import type { AuditEntry } from './port.ts';

/** Retention limits of the log. */
export interface AuditRetention {
  /** Total size of all files, bytes; null for unlimited. */
  readonly bytesMax: number | null;
  /**
   * Minimum age before a line may be deleted; a file goes when all its lines are older. Null keeps lines indefinitely.
   */
  readonly ageMsMax: number | null;
}

export const KEEP_ALL: AuditRetention = { bytesMax: null, ageMsMax: null };

/**
 * Files to delete, oldest first, and the entry that records it; the remaining chain continues after the line it names.
 */
export interface PrunePlan {
  readonly paths: readonly string[];
  readonly entry: Extract<AuditEntry, { action: 'pruned' }>;
}

/**
 * Returns the oldest rotated files that exceed the limits; null if none does.
 *
 * @param currentBytes size of the active file, which is always kept
 * @throws AuditLogDamaged if one of them was altered: it and all later files stay as evidence
 */
export async function filesToPrune(
  path: string,
  { bytesMax, ageMsMax }: AuditRetention,
  currentBytes: number,
  nowMs: number,
): Promise<PrunePlan | null> {
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
  const detail = `deleted by retention: ${paths.map((each) => basename(each)).join(', ')}`;
  return { paths, entry: { action: 'pruned', last_seq: last.seq, last_hash: last.hash, detail } };
}

/** Deletes files, oldest first, so that an interruption leaves a chain without gaps. */
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
