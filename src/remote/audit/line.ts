import { hash as digest } from 'node:crypto';

import type { AuditEntry } from './port.ts';

/** What stands in `prev` of the very first line. */
export const NO_HASH = '0'.repeat(64);
/** Longest line that is written or read, bytes. */
export const LINE_BYTES_MAX = 64 * 1024;

const TEXT_CHARS_MAX = 1_024;
const HASH_MEMBER = /^(.*),"hash":"([0-9a-f]{64})"\}$/s;

/** Where a chain stands: its last line. */
export interface ChainHead {
  /** 0 before the first line. */
  readonly seq: number;
  readonly hash: string;
}

export const CHAIN_START: ChainHead = { seq: 0, hash: NO_HASH };

/** One line as it is read back. */
export interface AuditLine {
  readonly seq: number;
  readonly at: string;
  readonly prev: string;
  readonly action: string;
  readonly hash: string;
  /** Of one that says that older files were deleted: the last line in them. */
  readonly pruned: ChainHead | null;
}

/**
 * One entry as a line of JSON, line feed included: `seq`, `at`, `prev` (the hash of the line before), the entry, and last
 * `hash`: SHA-256 over the bytes of the line up to, and without, `,"hash":`.
 *
 * @param at milliseconds since the epoch
 */
export function formatLine(entry: AuditEntry, at: number, head: ChainHead): { text: string; head: ChainHead } {
  const seq = head.seq + 1;
  const members = { seq, at: new Date(at).toISOString(), prev: head.hash, ...entry };
  const body = textOf(members).slice(0, -1);
  const hash = digestOf(body);
  return { text: `${body},"hash":"${hash}"}\n`, head: { seq, hash } };
}

/** In a short line no text can be too long: it is spared the look at each, which takes longer than all the rest. */
function textOf(members: object): string {
  const text = JSON.stringify(members);
  return text.length <= TEXT_CHARS_MAX ? text : JSON.stringify(members, clipped);
}

/** Texts come from callers that nobody trusts. */
function clipped(key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= TEXT_CHARS_MAX || key === 'torn_text') return value;
  return `${value.slice(0, TEXT_CHARS_MAX)}…`;
}

function digestOf(body: string | Buffer): string {
  return digest('sha256', body, 'hex');
}

/**
 * Reads a line back, its own hash checked. Returns a text that says why where it is no line of an audit log or was changed.
 *
 * @param bytes without the line feed
 */
export function readLine(bytes: Buffer): AuditLine | string {
  if (bytes.length > LINE_BYTES_MAX) return 'it is longer than any line that is written';
  const text = bytes.toString('utf8');
  const members = objectOf(text);
  if (members === null) return 'it is not a line of an audit log';
  const { seq, at, prev, action, last_seq, last_hash } = members;
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 1) return 'it has no sequence number';
  if (typeof at !== 'string' || typeof prev !== 'string' || typeof action !== 'string') {
    return 'it lacks a time, an action or the hash of the line before';
  }
  const [, body, hash] = HASH_MEMBER.exec(text) ?? [];
  if (body === undefined || hash === undefined) return 'it does not end with its hash';
  // Hashed as bytes: a text would hide what was not UTF-8.
  if (digestOf(bytes.subarray(0, bytes.length - TAIL_BYTES)) !== hash)
    return 'it was changed: its own hash does not fit';
  const isPruned = action === 'pruned' && typeof last_seq === 'number' && typeof last_hash === 'string';
  return { seq, at, prev, action, hash, pruned: isPruned ? { seq: last_seq, hash: last_hash } : null };
}

const TAIL_BYTES = `,"hash":"${NO_HASH}"}`.length;

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
