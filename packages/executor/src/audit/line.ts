import { hash as digest } from 'node:crypto';

import type { AuditEntry } from './port.ts';

/** `prev` of the first line of a chain. */
export const NO_HASH = '0'.repeat(64);
/** Longest line that is written or read, bytes. */
export const LINE_BYTES_MAX = 64 * 1024;

const TEXT_CHARS_MAX = 1_024;
const HASH_MEMBER = /^(.*),"hash":"([0-9a-f]{64})"\}$/s;

/** Head of a chain: its last line. */
export interface ChainHead {
  /** 0 before the first line. */
  readonly seq: number;
  readonly hash: string;
}

export const CHAIN_START: ChainHead = { seq: 0, hash: NO_HASH };

/** A line as read from the log. */
export interface AuditLine {
  readonly seq: number;
  readonly at: string;
  readonly prev: string;
  readonly action: string;
  readonly hash: string;
  /** For a `pruned` entry: the last line of the deleted files. */
  readonly pruned: ChainHead | null;
}

/**
 * Formats an entry as one line of JSON, including the line feed: `seq`, `at`, `prev` (hash of the previous line), the
 * entry, and finally `hash`: SHA-256 of the bytes before `,"hash":`.
 *
 * @param at milliseconds since the epoch
 */
export function formatLine(entry: AuditEntry, at: number, head: ChainHead): { text: string; head: ChainHead } {
  const seq = head.seq + 1;
  const members = { seq, at: new Date(at).toISOString(), prev: head.hash, ...entry };
  const body = serialize(members).slice(0, -1);
  const hash = digestOf(body);
  return { text: `${body},"hash":"${hash}"}\n`, head: { seq, hash } };
}

/** Skips the per-string check for short lines, because it costs more than everything else here. */
function serialize(members: object): string {
  const text = JSON.stringify(members);
  return text.length <= TEXT_CHARS_MAX ? text : JSON.stringify(members, clipped);
}

/** Clips long strings, because they come from untrusted callers. */
function clipped(key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= TEXT_CHARS_MAX || key === 'torn_text') return value;
  return `${value.slice(0, TEXT_CHARS_MAX)}…`;
}

function digestOf(body: string | Buffer): string {
  return digest('sha256', body, 'hex');
}

/**
 * Parses a line and verifies its hash. Returns the reason as a string if the line is invalid or was altered.
 *
 * @param bytes without the line feed
 */
export function readLine(bytes: Buffer): AuditLine | string {
  if (bytes.length > LINE_BYTES_MAX) return 'it exceeds the maximum line length';
  const text = bytes.toString('utf8');
  const members = objectOf(text);
  if (members === null) return 'it is not an audit log line';
  const { seq, at, prev, action, last_seq, last_hash } = members;
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 1) return 'it has no valid sequence number';
  if (typeof at !== 'string' || typeof prev !== 'string' || typeof action !== 'string') {
    return 'it lacks a time, an action or the hash of the previous line';
  }
  const [, body, hash] = HASH_MEMBER.exec(text) ?? [];
  if (body === undefined || hash === undefined) return 'it does not end with its hash';
  // Hashes the bytes rather than the decoded string, which would hide invalid UTF-8.
  if (digestOf(bytes.subarray(0, bytes.length - TAIL_BYTES)) !== hash) return 'it was altered: its hash does not match';
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
