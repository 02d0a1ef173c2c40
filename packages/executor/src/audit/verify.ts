import { createReadStream } from 'node:fs';

import { LINE_BYTES_MAX, NO_HASH, readLine, type AuditLine, type ChainHead } from './line.ts';

/** The first line that fails verification, and the reason. */
export interface AuditFault {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** The sequence number claimed by the line; null if unreadable. */
  readonly seq: number | null;
  readonly reason: string;
}

export interface AuditVerdict {
  /** The first fault in chain order; null if every line verifies. */
  readonly fault: AuditFault | null;
  readonly lines: number;
  /** The first line; null if there is none. A `seq` above 1 means that earlier files exist or existed. */
  readonly first: { readonly seq: number; readonly prev: string; readonly at: string } | null;
  /** The last line that verifies; null if there is none. */
  readonly last: (ChainHead & { readonly at: string }) | null;
  /** Observations that do not break the chain. */
  readonly notes: readonly string[];
  /** Whether the line with the requested hash is present; null if none was requested. */
  readonly anchored: boolean | null;
}

export interface VerifyOptions {
  /** Hash of a line known from elsewhere: a chain without it was truncated or rewritten. */
  readonly anchor?: string | null;
}

interface RawLine {
  readonly bytes: Buffer;
  readonly whole: boolean;
}

/**
 * Verifies one chain across its files, ordered by their first lines regardless of their names.
 *
 * @throws a system error if a file cannot be read
 */
export async function verifyAuditLog(paths: readonly string[], options: VerifyOptions = {}): Promise<AuditVerdict> {
  const chain = new Chain(options.anchor ?? null);
  const files = await inOrder(paths);
  for (const [index, file] of files.entries()) {
    await chain.follow(file, index === files.length - 1);
    if (chain.fault !== null) break;
  }
  return chain.verdict();
}

/** Orders files by the number of their first line; unreadable files come first, so that their fault is reported. */
async function inOrder(paths: readonly string[]): Promise<string[]> {
  const firsts = await Promise.all(
    [...new Set(paths)].map(async (path) => {
      for await (const { bytes } of linesOf(path)) {
        const line = readLine(bytes);
        return { path, seq: typeof line === 'string' ? 0 : line.seq };
      }
      return { path, seq: 0 };
    }),
  );
  return firsts.toSorted((a, b) => a.seq - b.seq).map(({ path }) => path);
}

class Chain {
  fault: AuditFault | null = null;
  readonly #anchor: string | null;
  readonly #notes: string[] = [];
  #lines = 0;
  #first: AuditLine | null = null;
  #last: AuditLine | null = null;
  #anchored: boolean;
  /** The newest entry that records deleted files, and its time. */
  #pruned: (ChainHead & { readonly at: string }) | null = null;

  constructor(anchor: string | null) {
    this.#anchor = anchor;
    this.#anchored = anchor === NO_HASH;
  }

  async follow(file: string, isLast: boolean): Promise<void> {
    let number = 0;
    for await (const { bytes, whole } of linesOf(file)) {
      number += 1;
      if (!whole && isLast) {
        this.#notes.push(
          `${file}: its last line is incomplete (${bytes.length} bytes): it is being written, or the writer stopped`,
        );
        return;
      }
      const line = readLine(bytes);
      const reason =
        typeof line === 'string' ? line : whole ? this.#linkFault(line) : 'it does not end with a line feed';
      if (reason !== null) {
        this.fault = { file, line: number, seq: typeof line === 'string' ? null : line.seq, reason };
        return;
      }
      this.#take(line as AuditLine, `${file}:${number}`);
    }
    if (number === 0) this.#notes.push(`${file}: contains no lines`);
  }

  verdict(): AuditVerdict {
    const { fault } = this;
    const first = this.#first;
    const last = this.#last;
    const notes = [...this.#notes];
    if (first !== null && first.seq > 1) notes.push(this.#beginning(first));
    return {
      fault,
      lines: this.#lines,
      first: first === null ? null : { seq: first.seq, prev: first.prev, at: first.at },
      last: last === null ? null : { seq: last.seq, hash: last.hash, at: last.at },
      notes,
      anchored: this.#anchor === null ? null : this.#anchored,
    };
  }

  /** Explains where the lines before the first one are. */
  #beginning({ seq, prev }: AuditLine): string {
    const pruned = this.#pruned;
    if (pruned === null || pruned.seq !== seq - 1 || pruned.hash !== prev)
      return `the chain begins at line ${seq}: older files were not given`;
    return `the chain begins at line ${seq}: the executor deleted earlier lines at ${pruned.at} by retention`;
  }

  #take(line: AuditLine, where: string): void {
    this.#first ??= line;
    this.#last = line;
    this.#lines += 1;
    if (line.hash === this.#anchor) this.#anchored = true;
    if (line.pruned !== null) this.#pruned = { ...line.pruned, at: line.at };
    if (line.action === 'repaired') this.#notes.push(`${where}: a torn line was removed before this one`);
    if (line.action === 'lost' || line.action === 'suppressed') {
      this.#notes.push(`${where}: entries were ${line.action} here`);
    }
  }

  /** Returns why a line with a valid hash does not follow the previous one; null if it does. */
  #linkFault(line: AuditLine): string | null {
    const last = this.#last;
    if (last === null) {
      return line.seq === 1 && line.prev !== NO_HASH ? 'it is number 1 but names a previous line' : null;
    }
    const expected = last.seq + 1;
    if (line.seq > expected) {
      const missing = line.seq - 1 === expected ? `line ${expected} is` : `lines ${expected} to ${line.seq - 1} are`;
      return `it is number ${line.seq} after number ${last.seq}: ${missing} missing or out of order`;
    }
    if (line.seq < expected) return `it is number ${line.seq} after number ${last.seq}: it was inserted or moved here`;
    if (line.prev !== last.hash) {
      return `it does not carry the hash of line ${last.seq}: one of the two was rewritten`;
    }
    return null;
  }
}

const LINE_FEED = 0x0a;

/** Yields the lines of a file without line feeds; a line beyond the limit is cut just past it. */
async function* linesOf(path: string): AsyncGenerator<RawLine> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      yield { bytes: joined(rest, chunk.subarray(start, end)), whole: true };
      rest = Buffer.alloc(0);
      start = end + 1;
    }
    rest = joined(rest, chunk.subarray(start));
  }
  if (rest.length > 0) yield { bytes: rest, whole: false };
}

function joined(rest: Buffer, more: Buffer): Buffer {
  if (rest.length > LINE_BYTES_MAX) return rest;
  return rest.length === 0 ? Buffer.from(more) : Buffer.concat([rest, more]);
}
