import type { ArchiveBudgets, ArchiveOptions } from '../options.ts';
import type { Problem, ProblemCode } from '../result.ts';
import { ObjectFault } from '../source/port.ts';

/** What an archive is opened in. */
export interface ArchiveContext {
  /** The archive's own full path; its entries follow it after `!`. */
  path: string;
  /** Archives around it: 0 where it is a top-level object. */
  depth: number;
  options: ArchiveOptions;
  /** One for everything below one top-level object. */
  root: RootBudget;
  /** Takes what is worth saying although reading goes on: unsafe names, damaged headers, what follows the end. */
  report(problem: Problem): void;
}

/** What has ended with a budget: this entry, its archive, or everything below the top-level object. */
export type BudgetLevel = 'entry' | 'archive' | 'root';

/** A budget that has ended. At level `entry` the archive can be read on. */
export class BudgetFault extends ObjectFault {
  readonly level: BudgetLevel;

  constructor(level: BudgetLevel, problem: Problem) {
    super(problem);
    this.name = 'BudgetFault';
    this.level = level;
  }
}

/** Small things may be packed as tightly as they like: the ratio counts from here on. */
export const RATIO_FLOOR_BYTES = 4 * 1024 * 1024;

/** `64 MiB`, `1.5 KiB`, `17 bytes`. */
export function bytesText(bytes: number): string {
  for (const [unit, size] of UNITS) {
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))} ${unit}`;
  }
  return `${bytes} bytes`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
];

interface Ended {
  level: BudgetLevel;
  code: ProblemCode;
  message: string;
}

/** What everything below one top-level object has unfolded to. */
export class RootBudget {
  readonly #budgets: ArchiveBudgets;
  #unpacked = 0;
  #packed = 0;
  #ended: Ended | null = null;

  constructor(budgets: ArchiveBudgets) {
    this.#budgets = budgets;
  }

  /** Bytes that were unpacked below this object, over all levels, those beyond the budget included. */
  get unpackedBytes(): number {
    return this.#unpacked;
  }

  get ended(): Ended | null {
    return this.#ended;
  }

  /** Counts packed bytes of the outermost archive as used. */
  consume(bytes: number): void {
    this.#packed += bytes;
  }

  /** Counts `bytes` as unpacked and returns how many of them fit. */
  charge(bytes: number): number {
    const { root_bytes_max, ratio_max } = this.#budgets;
    const room = Math.max(0, root_bytes_max - this.#unpacked);
    this.#unpacked += bytes;
    if (bytes > room) {
      const message = `everything in this file together unfolds to more than ${bytesText(root_bytes_max)}`;
      this.#ended ??= { level: 'root', code: 'root_bytes_budget', message };
      return room;
    }
    if (exceedsRatio(this.#unpacked, this.#packed, ratio_max)) {
      const message = `everything in this file together unfolds to ${ratioText(this.#unpacked, this.#packed, ratio_max)}`;
      this.#ended ??= { level: 'root', code: 'ratio_budget', message };
    }
    return bytes;
  }
}

function exceedsRatio(unpacked: number, packed: number, ratioMax: number): boolean {
  return unpacked >= RATIO_FLOOR_BYTES && unpacked > ratioMax * packed;
}

function ratioText(unpacked: number, packed: number, ratioMax: number): string {
  return `${bytesText(unpacked)} from ${bytesText(packed)}, more than ${ratioMax} times its size`;
}

/** Problems of one kind that an archive reports one by one; the rest is counted. */
const REPORTS_MAX = 32;

/** What one archive may unfold to, and what it reports. */
export class ArchiveBudget {
  readonly context: ArchiveContext;
  readonly budgets: ArchiveBudgets;
  #entries = 0;
  #unpacked = 0;
  #packed = 0;
  #ended: Ended | null = null;
  readonly #reports = new Map<ProblemCode, number>();

  constructor(context: ArchiveContext) {
    this.context = context;
    this.budgets = context.options.budgets;
  }

  get entries(): number {
    return this.#entries;
  }

  /** Counts packed bytes as used; before the bytes that come of them are charged. */
  consume(bytes: number): void {
    this.#packed += bytes;
    if (this.context.depth === 0) this.context.root.consume(bytes);
  }

  /**
   * Counts one more entry. Throws a `BudgetFault` where there are too many, or another budget has ended; not the latter
   * where the entry's bytes are `charged` already, since they were unpacked before it ended.
   */
  countEntry(charged = false): void {
    if (!charged) this.check(this.context.path, this.#entries > 0);
    if (this.#entries >= this.budgets.entries_max) {
      const message = `the archive has more than ${this.budgets.entries_max} entries`;
      this.#ended ??= { level: 'archive', code: 'entry_count_budget', message };
      this.check(this.context.path, true);
    }
    this.#entries++;
  }

  /** Counts `bytes` as unpacked and returns how many of them fit; fewer than all: `check` throws from now on. */
  charge(bytes: number): number {
    const { archive_bytes_max, ratio_max } = this.budgets;
    const room = Math.max(0, archive_bytes_max - this.#unpacked);
    this.#unpacked += bytes;
    const fitting = this.context.root.charge(bytes);
    if (bytes > room) {
      const message = `the archive unfolds to more than ${bytesText(archive_bytes_max)}`;
      this.#ended ??= { level: 'archive', code: 'archive_bytes_budget', message };
    } else if (exceedsRatio(this.#unpacked, this.#packed, ratio_max)) {
      const message = `the archive unfolds to ${ratioText(this.#unpacked, this.#packed, ratio_max)}`;
      this.#ended ??= { level: 'archive', code: 'ratio_budget', message };
    }
    return Math.min(fitting, room);
  }

  /** True once the archive's or the root's budget has ended. */
  get hasEnded(): boolean {
    return this.#ended !== null || this.context.root.ended !== null;
  }

  /** Throws what has ended, in the name of `path`, of which nothing or something was handed on. */
  check(path: string, partial: boolean): void {
    const ended = this.context.root.ended ?? this.#ended;
    if (ended === null) return;
    const { level, code, message } = ended;
    throw new BudgetFault(level, { code, path, message, extent: partial ? 'partial' : 'skipped' });
  }

  report(problem: Problem): void {
    const count = (this.#reports.get(problem.code) ?? 0) + 1;
    this.#reports.set(problem.code, count);
    if (count <= REPORTS_MAX) this.context.report(problem);
  }

  /** Says how many reports were held back. At the end, once. */
  reportRest(): void {
    for (const [code, count] of this.#reports) {
      if (count <= REPORTS_MAX) continue;
      const message = `${count - REPORTS_MAX} more entries of this archive have the same problem`;
      this.context.report({ code, path: this.context.path, message, extent: 'notice' });
    }
    this.#reports.clear();
  }
}

/** Throws a `BudgetFault` where the archive lies deeper than archives are opened. */
export function checkDepth({ path, depth, options }: ArchiveContext): void {
  const { depth_max } = options.budgets;
  if (depth < depth_max) return;
  const message = `archives are opened to a depth of ${depth_max}; this one lies deeper`;
  throw new BudgetFault('archive', { code: 'depth_budget', path, message, extent: 'skipped' });
}
