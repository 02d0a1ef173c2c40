import { open, readdir, rename, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { readFully, syncDirectory } from '@heddle/base/file-io';
import { CHAIN_START, LINE_BYTES_MAX, readLine, type ChainHead } from './line.ts';

const LINE_FEED = 0x0a;
const SEQ_DIGITS = 12;
/** Limit of a torn line's text in the log, bytes. */
const TORN_TEXT_BYTES = 4_096;
const TORN_BYTES_MAX = 16 * 1024 * 1024;

/** End of a log file: its last whole line and any torn bytes after it. */
export interface Tail {
  readonly head: ChainHead;
  /** Time of that line, ISO 8601; empty if there is none. */
  readonly at: string;
  /** Bytes up to and including the last line feed. */
  readonly size: number;
  /** Torn bytes after the last line feed; null if the file ends cleanly. */
  readonly torn: { bytes: number; text: string } | null;
}

/** Thrown if the last line of a log was altered or is not an audit line; the chain cannot continue from it. */
class AuditLogDamaged extends Error {
  constructor(path: string, reason: string) {
    super(
      `the last line of the audit log ${path} cannot be continued: ${reason}. ` +
        'Move the file elsewhere, keep it, and run `heddle audit verify` on it; a new log starts in its place.',
    );
    this.name = 'AuditLogDamaged';
  }
}

/** Reads the end of an open log, at most `bytesMax` bytes. @throws AuditLogDamaged */
export async function readTail(handle: FileHandle, path: string, bytesMax = TORN_BYTES_MAX): Promise<Tail> {
  const { size: total } = await handle.stat();
  // A torn write may span several lines: the disk may have kept only its end, preceded by zeros.
  const from = Math.max(0, total - bytesMax);
  const end = await readFully(handle, from, total - from);
  const size = end.lastIndexOf(LINE_FEED) + 1;
  if (size === 0 && from > 0) throw new AuditLogDamaged(path, 'it has no line feed');
  const torn = end.length > size ? tornOf(end.subarray(size)) : null;
  if (size === 0) return { head: CHAIN_START, at: '', size: 0, torn };
  const start = end.lastIndexOf(LINE_FEED, size - 2) + 1;
  const line = readLine(end.subarray(start, size - 1));
  if (typeof line === 'string') throw new AuditLogDamaged(path, line);
  return { head: { seq: line.seq, hash: line.hash }, at: line.at, size: from + size, torn };
}

function tornOf(bytes: Buffer): Tail['torn'] {
  return { bytes: bytes.length, text: bytes.subarray(0, TORN_TEXT_BYTES).toString('utf8') };
}

/** Returns the path of a rotated file: `audit.jsonl` that starts at line 42 becomes `audit-000000000042.jsonl`. */
export function rotatedPath(path: string, firstSeq: number): string {
  const { stem, ending } = partsOf(path);
  return join(dirname(path), `${stem}-${String(firstSeq).padStart(SEQ_DIGITS, '0')}${ending}`);
}

function partsOf(path: string): { stem: string; ending: string } {
  const name = basename(path);
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? { stem: name, ending: '' } : { stem: name.slice(0, dot), ending: name.slice(dot) };
}

/** Returns the rotated files, oldest first. */
export async function rotatedFiles(path: string): Promise<string[]> {
  const { stem, ending } = partsOf(path);
  const names = await readdir(dirname(path));
  return names
    .filter((name) => name.startsWith(`${stem}-`) && name.endsWith(ending))
    .filter((name) => /^\d{12,}$/.test(name.slice(stem.length + 1, name.length - ending.length)))
    .sort()
    .map((name) => join(dirname(path), name));
}

/** Returns the head of the newest rotated file, or the start of a chain if there is none. */
export async function headOfRotated(path: string): Promise<ChainHead> {
  const newest = (await rotatedFiles(path)).at(-1);
  if (newest === undefined) return CHAIN_START;
  const handle = await open(newest, 'r');
  try {
    return (await readTail(handle, newest)).head;
  } finally {
    await handle.close();
  }
}

/** Returns the first line of a file, whose number becomes part of the rotated name; null if the file has no line. */
export async function firstLineOf(handle: FileHandle): Promise<{ seq: number; at: string } | null> {
  const start = await readFully(handle, 0, Math.min(LINE_BYTES_MAX + 1, (await handle.stat()).size));
  const end = start.indexOf(LINE_FEED);
  if (end < 0) return null;
  const line = readLine(start.subarray(0, end));
  return typeof line === 'string' ? null : { seq: line.seq, at: line.at };
}

/** Renames a file durably: the new name survives a power loss. Never replaces an existing file. */
export async function renameDurably(from: string, to: string): Promise<void> {
  if (await exists(to)) throw new Error(`${to} already exists`);
  await rename(from, to);
  await syncDirectory(dirname(to));
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
