import { createReadStream } from 'node:fs';

import { LINE_BYTES_MAX, NO_HASH, readLine, type AuditLine, type ChainHead } from './line.ts';

/** The first line that does not fit, and why. */
export interface AuditFault {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** The number that the line says it has; null where it cannot be read. */
  readonly seq: number | null;
  readonly reason: string;
}

export interface AuditVerdict {
  /** The first of the faults in the order of the chain; null where every line fits. */
  readonly fault: AuditFault | null;
  readonly lines: number;
  /** Of the first line; null without any. More than 1: files before these exist, or existed. */
  readonly first: { readonly seq: number; readonly prev: string; readonly at: string } | null;
  /** Of the last line that fits; null without any. */
  readonly last: (ChainHead & { readonly at: string }) | null;
  /** What may be worth a look and breaks nothing. */
  readonly notes: readonly string[];
  /** Whether the line with the hash that was asked for is there; null where none was asked for. */
  readonly anchored: boolean | null;
}

export interface VerifyOptions {
  /** The hash of a line that is known from elsewhere: a chain without it was cut or written anew. */
  readonly anchor?: string | null;
}

interface RawLine {
  readonly bytes: Buffer;
  readonly whole: boolean;
}

/**
 * Follows one chain through its files, in the order of their first lines, however they were named.
 *
 * @throws the error of the system where a file cannot be read
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

/** By the number of the first line; files without a line that can be read come first, so that their fault is told. */
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
  /** What the newest line that tells of deleted files says, and when it was written. */
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
          `${file}: its last line is not whole (${bytes.length} bytes): it is being written, or its writer was ended`,
        );
        return;
      }
      const line = readLine(bytes);
      const reason = typeof line === 'string' ? line : whole ? this.#misfit(line) : 'it does not end with a line feed';
      if (reason !== null) {
        this.fault = { file, line: number, seq: typeof line === 'string' ? null : line.seq, reason };
        return;
      }
      this.#take(line as AuditLine, `${file}:${number}`);
    }
    if (number === 0) this.#notes.push(`${file}: has no lines`);
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

  /** Where the lines before the first one are. */
  #beginning({ seq, prev }: AuditLine): string {
    const pruned = this.#pruned;
    if (pruned === null || pruned.seq !== seq - 1 || pruned.hash !== prev)
      return `the chain begins at line ${seq}: older files are not among these`;
    return `the chain begins at line ${seq}: the executor deleted what was before it, at ${pruned.at}, as its settings say`;
  }

  #take(line: AuditLine, where: string): void {
    this.#first ??= line;
    this.#last = line;
    this.#lines += 1;
    if (line.hash === this.#anchor) this.#anchored = true;
    if (line.pruned !== null) this.#pruned = { ...line.pruned, at: line.at };
    if (line.action === 'repaired') this.#notes.push(`${where}: a torn line was cut off before this one`);
    if (line.action === 'lost' || line.action === 'suppressed') {
      this.#notes.push(`${where}: entries were ${line.action} here`);
    }
  }

  /** Why a line whose own hash fits does not follow the one before it; null where it does. */
  #misfit(line: AuditLine): string | null {
    const last = this.#last;
    if (last === null) {
      return line.seq === 1 && line.prev !== NO_HASH ? 'it is number 1 and yet names a line before it' : null;
    }
    const expected = last.seq + 1;
    if (line.seq > expected) {
      const missing = line.seq - 1 === expected ? `line ${expected} is` : `lines ${expected} to ${line.seq - 1} are`;
      return `it is number ${line.seq} after number ${last.seq}: ${missing} missing or stand elsewhere`;
    }
    if (line.seq < expected) return `it is number ${line.seq} after number ${last.seq}: it was put in or moved here`;
    if (line.prev !== last.hash) {
      return `it does not name the hash of line ${last.seq}: one of the two was written anew`;
    }
    return null;
  }
}

const LINE_FEED = 0x0a;

/** The lines of a file, without their line feeds; of one that is too long only as much as shows that it is. */
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
