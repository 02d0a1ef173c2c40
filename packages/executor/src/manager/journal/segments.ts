import type { JournalFile, JournalFiles } from './files.ts';

const NAME = /^tasks-(\d{1,15})\.log$/;

export function segmentName(number: number): string {
  return `tasks-${String(number).padStart(6, '0')}.log`;
}

/** Returns the number in a segment's name; null for other files. */
export function segmentNumber(name: string): number | null {
  const digits = NAME.exec(name)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** One file of the journal. */
class Segment {
  readonly number: number;
  /** Valid bytes. */
  size: number;
  /** Number of tasks whose first valid record is in this file. */
  tasks = 0;
  readonly #file: JournalFile | null;

  constructor(number: number, size: number, file: JournalFile | null) {
    this.number = number;
    this.size = size;
    this.#file = file;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#file!.write(bytes, this.size);
    this.size += bytes.length;
  }

  /** Truncates everything written beyond the valid bytes. */
  async cut(): Promise<void> {
    await this.#file?.truncate(this.size);
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }
}

export interface SegmentsOptions {
  /** Size at which the next file is started, bytes. */
  readonly segmentBytes: number;
  /** Whether each commit is synced to disk. */
  readonly sync: boolean;
}

export interface FoundSegment {
  readonly number: number;
  readonly size: number;
}

/**
 * The journal's files, oldest first. They are deleted only in this order, because a record that ends something is in
 * the same file as its subject or a later one.
 */
export class Segments {
  readonly #files: JournalFiles;
  readonly #options: SegmentsOptions;
  readonly #all = new Map<number, Segment>();
  #current: Segment | null = null;
  #next: number;
  #bytes = 0;

  constructor(files: JournalFiles, options: SegmentsOptions, found: readonly FoundSegment[]) {
    this.#files = files;
    this.#options = options;
    for (const { number, size } of found) {
      this.#all.set(number, new Segment(number, size, null));
      this.#bytes += size;
    }
    this.#next = (found.at(-1)?.number ?? 0) + 1;
  }

  /** Total size of all files, bytes. */
  get bytes(): number {
    return this.#bytes + (this.#current?.size ?? 0);
  }

  get segmentBytes(): number {
    return this.#options.segmentBytes;
  }

  /** The oldest file, unless it is still being written. */
  get oldest(): { readonly number: number; readonly tasks: number } | null {
    for (const segment of this.#all.values()) return segment === this.#current ? null : segment;
    return null;
  }

  /** Returns the file to write to; starts a new one if it is full. */
  async current(): Promise<Pick<Segment, 'number' | 'size' | 'write'>> {
    if (this.#current !== null && this.#current.size >= this.segmentBytes) await this.#finish();
    if (this.#current === null) {
      const number = this.#next;
      this.#next += 1;
      this.#current = new Segment(number, 0, await this.#files.create(segmentName(number), this.#options.sync));
      this.#all.set(number, this.#current);
    }
    return this.#current;
  }

  /** Gives up the current file after a failed write: truncates it if possible and starts a new one. */
  async abandon(): Promise<void> {
    await this.#current?.cut().catch(() => undefined);
    await this.#finish().catch(() => undefined);
  }

  /** Counts a task whose first record is in the file. */
  hold(number: number): void {
    const segment = this.#all.get(number);
    if (segment !== undefined) segment.tasks += 1;
  }

  /** Uncounts a task that was removed or rewritten elsewhere. */
  release(number: number): void {
    const segment = this.#all.get(number);
    if (segment !== undefined) segment.tasks -= 1;
  }

  async read(number: number, at: number, length: number): Promise<Buffer> {
    const bytes = await this.#files.read(segmentName(number), at, length);
    if (bytes.length !== length) throw new Error(`the journal's file ${segmentName(number)} was truncated`);
    return bytes;
  }

  /** Deletes the oldest files that no task needs. */
  async removeUnused(): Promise<void> {
    for (let oldest = this.oldest; oldest !== null && oldest.tasks === 0; oldest = this.oldest) {
      const segment = this.#all.get(oldest.number)!;
      await this.#files.remove(segmentName(oldest.number));
      this.#all.delete(oldest.number);
      this.#bytes -= segment.size;
    }
  }

  async close(): Promise<void> {
    await this.#finish();
  }

  async #finish(): Promise<void> {
    const segment = this.#current;
    if (segment === null) return;
    this.#current = null;
    this.#bytes += segment.size;
    await segment.close();
  }
}
