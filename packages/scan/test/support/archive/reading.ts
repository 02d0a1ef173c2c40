import assert from 'node:assert/strict';

import { RootBudget, type ArchiveContext } from '../../../src/archive/context.ts';
import { detectArchive, openArchive } from '../../../src/archive/open-archive.ts';
import type { ArchiveEntry, ArchiveFormat } from '../../../src/archive/port.ts';
import { type ArchiveOptions, SCAN_DEFAULTS } from '../../../src/options.ts';
import type { Problem } from '../../../src/result.ts';
import { ObjectFault, type ObjectReader } from '../../../src/source/port.ts';

/** Readers that were created and not closed. */
export const readers = { open: 0 };

export interface MemoryOptions {
  access?: 'carry' | 'range';
  /** Maximum bytes per read. */
  read_bytes?: number;
  /** Returns a promise. */
  later?: boolean;
}

/** An object in memory that verifies the contract of its consumer. */
export class MemoryReader implements ObjectReader {
  readonly size: number;
  readonly access: 'carry' | 'range';
  readonly #bytes: Uint8Array;
  readonly #options: MemoryOptions;
  #next = 0;
  #closed = false;

  constructor(bytes: Uint8Array, options: MemoryOptions = {}) {
    this.#bytes = bytes;
    this.#options = options;
    this.access = options.access ?? 'range';
    this.size = this.access === 'range' ? bytes.length : -1;
    readers.open++;
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number | Promise<number> {
    assert.equal(this.#closed, false, 'read after close');
    assert.ok(length > 0 && start >= 0 && start + length <= target.length, 'read outside its target');
    if (this.access === 'carry') assert.equal(offset, this.#next, 'a reader of `carry` is read in order');
    const count = Math.max(0, Math.min(length, this.#options.read_bytes ?? Infinity, this.#bytes.length - offset));
    target.set(this.#bytes.subarray(offset, offset + count), start);
    this.#next = offset + count;
    return this.#options.later === true ? Promise.resolve(count) : count;
  }

  close(): undefined {
    assert.equal(this.#closed, false, 'closed twice');
    this.#closed = true;
    readers.open--;
    return undefined;
  }
}

export interface EntryRead {
  /** From the top-level archive on: `inner.zip!file.txt`. */
  name: string;
  kind: ArchiveEntry['kind'];
  /** Null if it was not opened. */
  content: Buffer | null;
}

export interface ArchiveRead {
  entries: EntryRead[];
  /** All problems, in order of occurrence. */
  problems: Problem[];
  /** Charged to the root budget. */
  unpacked_bytes: number;
  opened_archives: number;
}

export interface ReadOptions extends MemoryOptions {
  budgets?: Partial<ArchiveOptions>;
  format?: ArchiveFormat;
  /** Opens nested archives. */
  nested?: boolean;
  /** Stops reading each entry after this many bytes. */
  abandon_after_bytes?: number;
  /** Bytes per read of an entry. */
  target_bytes?: number;
}

interface Reading {
  options: ReadOptions;
  budgets: ArchiveOptions;
  root: RootBudget;
  result: ArchiveRead;
}

/** Reads an archive like a scan, one entry after another, and returns the result. Checks that everything is closed. */
export async function readArchive(path: string, bytes: Uint8Array, options: ReadOptions = {}): Promise<ArchiveRead> {
  const before = readers.open;
  const budgets = { ...SCAN_DEFAULTS.archives, ...options.budgets };
  const result: ArchiveRead = { entries: [], problems: [], unpacked_bytes: 0, opened_archives: 0 };
  const reading: Reading = { options, budgets, root: new RootBudget(budgets), result };
  const format = options.format ?? detectArchive(path, bytes.subarray(0, 512));
  assert.ok(format !== null, `${path} is an archive`);
  await readLevel(reading, format, new MemoryReader(bytes, options), path, 0);
  result.unpacked_bytes = reading.root.unpackedBytes;
  assert.equal(readers.open, before, 'all readers are closed');
  return result;
}

async function readLevel(
  reading: Reading,
  format: ArchiveFormat,
  reader: ObjectReader,
  path: string,
  depth: number,
): Promise<void> {
  const { result, budgets, root } = reading;
  const context: ArchiveContext = {
    path,
    depth,
    options: budgets,
    root,
    report: (problem) => result.problems.push(problem),
  };
  await reportingFaults(result, async () => {
    result.opened_archives++;
    const archive = await openArchive(format, reader, context);
    try {
      for (let entry = await archive.next(); entry !== null; entry = await archive.next())
        await readEntry(reading, entry, `${path}!${entry.name}`, depth);
    } finally {
      await archive.close();
    }
  });
}

async function readEntry(reading: Reading, entry: ArchiveEntry, path: string, depth: number): Promise<void> {
  const { options, result } = reading;
  const name = path.slice(path.indexOf('!') + 1);
  if (entry.kind === 'directory') {
    result.entries.push({ name, kind: entry.kind, content: null });
    return;
  }
  const reader = new CountedReader(entry.open());
  const pieces: Buffer[] = [];
  try {
    await reportingFaults(result, async () => {
      const target = new Uint8Array(options.target_bytes ?? 64 * 1024);
      for (let offset = 0; offset < (options.abandon_after_bytes ?? Infinity);) {
        const count = await reader.read(target, 0, target.length, offset);
        if (count === 0) break;
        assert.ok(count <= target.length);
        pieces.push(Buffer.from(target.subarray(0, count)));
        offset += count;
        if (offset >= 512 && options.nested === true && detectArchive(path, target.subarray(0, count)) !== null) break;
      }
    });
  } finally {
    const head = Buffer.concat(pieces);
    const format = options.nested === true ? detectArchive(path, head.subarray(0, 512)) : null;
    if (format === null) {
      const problem = reader.close();
      if (problem !== undefined) result.problems.push(problem);
      result.entries.push({ name, kind: entry.kind, content: head });
    } else {
      await readLevel(reading, format, new HeadReader(head, reader), path, depth + 1);
    }
  }
}

/** Tracks an entry's reader among those that must be closed. */
class CountedReader implements ObjectReader {
  readonly size: number;
  readonly access = 'carry';
  readonly #reader: ObjectReader;

  constructor(reader: ObjectReader) {
    assert.equal(reader.access, 'carry');
    this.#reader = reader;
    this.size = reader.size;
    readers.open++;
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number | Promise<number> {
    return this.#reader.read(target, start, length, offset);
  }

  close(): Problem | undefined {
    readers.open--;
    return this.#reader.close() as Problem | undefined;
  }
}

/** A reader whose beginning was already read. */
class HeadReader implements ObjectReader {
  readonly size = -1;
  readonly access = 'carry';
  readonly #head: Buffer;
  readonly #reader: ObjectReader;

  constructor(head: Buffer, reader: ObjectReader) {
    this.#head = head;
    this.#reader = reader;
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number | Promise<number> {
    if (offset >= this.#head.length) return this.#reader.read(target, start, length, offset);
    return this.#head.copy(target, start, offset, Math.min(this.#head.length, offset + length));
  }

  close(): ReturnType<ObjectReader['close']> {
    return this.#reader.close();
  }
}

async function reportingFaults(result: ArchiveRead, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ObjectFault)) throw error;
    result.problems.push(error.problem);
  }
}

/** Formats problems as `code extent path`, which most tests compare. */
export function briefly(problems: readonly Problem[]): string[] {
  return problems.map(({ code, extent, path }) => `${code} ${extent} ${path}`);
}

/** Returns the content by name. */
export function contents({ entries }: ArchiveRead): Record<string, string> {
  return Object.fromEntries(
    entries.flatMap(({ name, content }) => (content === null ? [] : [[name, content.toString()]])),
  );
}
