import type { ArchiveOptions } from '../options.ts';
import type { Problem, ProblemCode } from '../result.ts';
import { ObjectFault } from '../source/port.ts';

/** The context in which an archive is opened. */
export interface ArchiveContext {
  /** The archive's own full path; entry paths append `!` and their name. */
  path: string;
  /** Number of enclosing archives: 0 for a top-level object. */
  depth: number;
  options: ArchiveOptions;
  /** Shared by everything below one top-level object. */
  root: RootBudget;
  /** Receives problems that do not stop reading: unsafe names, damaged headers, trailing data. */
  report(problem: Problem): void;
}

/** The scope that a budget ends: one entry, its archive, or everything below the top-level object. */
export type BudgetLevel = 'entry' | 'archive' | 'root';

/** Signals an exhausted budget. At level `entry` the rest of the archive is still readable. */
export class BudgetFault extends ObjectFault {
  readonly level: BudgetLevel;

  constructor(level: BudgetLevel, problem: Problem) {
    super(problem);
    this.name = 'BudgetFault';
    this.level = level;
  }
}

/** Output size from which the ratio is checked: small data may be compressed as tightly as it likes. */
export const RATIO_FLOOR_BYTES = 4 * 1024 * 1024;

/** Formats a size: `64 MiB`, `1.5 KiB`, `17 bytes`. */
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

interface ExhaustedBudget {
  level: BudgetLevel;
  code: ProblemCode;
  message: string;
}

/** Tracks the unpacked size of everything below one top-level object. */
export class RootBudget {
  readonly #limits: ArchiveOptions;
  #unpacked = 0;
  #packed = 0;
  #ended: ExhaustedBudget | null = null;

  constructor(limits: ArchiveOptions) {
    this.#limits = limits;
  }

  /** Bytes unpacked below this object at all levels, including those beyond the budget. */
  get unpackedBytes(): number {
    return this.#unpacked;
  }

  get ended(): ExhaustedBudget | null {
    return this.#ended;
  }

  /** Counts compressed bytes of the outermost archive as consumed. */
  consume(bytes: number): void {
    this.#packed += bytes;
  }

  /** Counts `bytes` as unpacked and returns how many of them fit. */
  charge(bytes: number): number {
    const { rootBytesMax, ratioMax } = this.#limits;
    const remaining = Math.max(0, rootBytesMax - this.#unpacked);
    this.#unpacked += bytes;
    if (bytes > remaining) {
      const message = `the contents of this file unpack to a total of more than ${bytesText(rootBytesMax)}`;
      this.#ended ??= { level: 'root', code: 'root_bytes_budget', message };
      return remaining;
    }
    if (exceedsRatio(this.#unpacked, this.#packed, ratioMax)) {
      const ratio = ratioText(this.#unpacked, this.#packed, ratioMax);
      const message = `the contents of this file unpack to a total of ${ratio}`;
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

/** Problems of one kind that an archive reports individually; further ones are counted. */
const REPORTS_MAX = 32;

/** Tracks the limits of one archive and its reports. */
export class ArchiveBudget {
  readonly context: ArchiveContext;
  readonly limits: ArchiveOptions;
  #entries = 0;
  #unpacked = 0;
  #packed = 0;
  #ended: ExhaustedBudget | null = null;
  readonly #reports = new Map<ProblemCode, number>();

  constructor(context: ArchiveContext) {
    this.context = context;
    this.limits = context.options;
  }

  get entries(): number {
    return this.#entries;
  }

  /** Counts compressed bytes as consumed; must precede the charge of the bytes unpacked from them. */
  consume(bytes: number): void {
    this.#packed += bytes;
    if (this.context.depth === 0) this.context.root.consume(bytes);
  }

  /**
   * Counts one more entry. Throws a `BudgetFault` if there are too many or another budget is exhausted; `charged`
   * bytes ignore the latter, since they were unpacked before.
   */
  countEntry(charged = false): void {
    if (!charged) this.check(this.context.path, this.#entries > 0);
    if (this.#entries >= this.limits.entriesMax) {
      const message = `the archive has more than ${this.limits.entriesMax} entries`;
      this.#ended ??= { level: 'archive', code: 'entry_count_budget', message };
      this.check(this.context.path, true);
    }
    this.#entries++;
  }

  /** Counts `bytes` as unpacked and returns how many of them fit; if not all do, `check` throws from now on. */
  charge(bytes: number): number {
    const { archiveBytesMax, ratioMax } = this.limits;
    const remaining = Math.max(0, archiveBytesMax - this.#unpacked);
    this.#unpacked += bytes;
    const fitting = this.context.root.charge(bytes);
    if (bytes > remaining) {
      const message = `the archive unpacks to more than ${bytesText(archiveBytesMax)}`;
      this.#ended ??= { level: 'archive', code: 'archive_bytes_budget', message };
    } else if (exceedsRatio(this.#unpacked, this.#packed, ratioMax)) {
      const message = `the archive unpacks to ${ratioText(this.#unpacked, this.#packed, ratioMax)}`;
      this.#ended ??= { level: 'archive', code: 'ratio_budget', message };
    }
    return Math.min(fitting, remaining);
  }

  /** Returns true once the budget of the archive or the root is exhausted. */
  get hasEnded(): boolean {
    return this.#ended !== null || this.context.root.ended !== null;
  }

  /** Throws if a budget is exhausted; the fault names `path` and states whether part of it was delivered. */
  check(path: string, partial: boolean): void {
    const ended = this.context.root.ended ?? this.#ended;
    if (ended === null) return;
    const { level, code, message } = ended;
    throw new BudgetFault(level, { code, path, message, extent: partial ? 'partial' : 'skipped' });
  }

  /** Builds the fault of an archive that cannot be read further. */
  damage(message: string): ObjectFault {
    const extent = this.#entries > 0 ? 'partial' : 'skipped';
    return new ObjectFault({ code: 'malformed_archive', path: this.context.path, message, extent });
  }

  report(problem: Problem): void {
    const count = (this.#reports.get(problem.code) ?? 0) + 1;
    this.#reports.set(problem.code, count);
    if (count <= REPORTS_MAX) this.context.report(problem);
  }

  /** Reports how many problems were held back. Called once, at the end. */
  reportRest(): void {
    for (const [code, count] of this.#reports) {
      if (count <= REPORTS_MAX) continue;
      const message = `${count - REPORTS_MAX} more entries of this archive have the same problem`;
      this.context.report({ code, path: this.context.path, message, extent: 'notice' });
    }
    this.#reports.clear();
  }
}

/** Throws a `BudgetFault` if the archive is nested deeper than archives are opened. */
export function checkDepth({ path, depth, options }: ArchiveContext): void {
  const { depthMax } = options;
  if (depth < depthMax) return;
  const message = `nested deeper than the maximum archive depth of ${depthMax}`;
  throw new BudgetFault('archive', { code: 'depth_budget', path, message, extent: 'skipped' });
}
