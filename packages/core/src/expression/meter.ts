import { runPattern } from './regex/match.ts';
import { compilePattern } from './regex/pattern.ts';
import type { Pattern } from './regex/pattern.ts';

/** Maximum units of work per evaluation; a step over one node is one unit, about 50 nanoseconds. */
export const WORK_MAX = 2_000_000;
/** Units of work after which evaluations yield to other work. */
export const SLICE_STEPS = 100_000;
/** Patterns that one evaluation keeps compiled. */
const PATTERNS_KEPT = 64;
const ELEMENTS_PER_UNIT = 16;
const CHARS_PER_UNIT = 64;
/** Listing the members of a large object is slow. */
const UNITS_PER_MEMBER = 0.5;

/** Step budget shared by evaluations; each may use what is left, and reports what it used. */
export interface Allowance {
  readonly left: number;
  spend(steps: number): void;
}

/** The same, cut into slices between which other work runs. */
export interface SlicedAllowance extends Allowance {
  readonly leftInSlice: number;
  nextSlice(): Promise<void>;
}

/**
 * Counts the work of one evaluation and ends it at the limit: macros over lists can be nested, and strings and lists
 * can be doubled again and again.
 */
export class Meter {
  #limit = WORK_MAX;
  #left = WORK_MAX;
  #slices: SlicedAllowance | null = null;
  /** Budget left at the end of the current slice. */
  #pauseAt = Number.NEGATIVE_INFINITY;
  /** Work done and reported to the allowance. */
  #reported = 0;
  #hasPaused = false;
  #costs = new WeakMap<object, number>();
  #typing = new WeakMap<object, number>();
  readonly #patterns = new Map<string, Pattern>();

  /**
   * Resets the meter before an evaluation.
   *
   * @param limit maximum work, at most `WORK_MAX`
   * @param slices how it yields to other work; never if absent
   */
  begin(limit: number = WORK_MAX, slices: SlicedAllowance | null = null): void {
    this.#limit = Math.min(limit, WORK_MAX);
    this.#left = this.#limit;
    this.#reported = 0;
    this.#hasPaused = false;
    this.#slices = slices;
    this.#schedulePause();
    this.#costs = new WeakMap();
    this.#typing = new WeakMap();
  }

  /** Returns the work done since the last call. */
  takeSpent(): number {
    const spent = this.#limit - this.#left;
    const fresh = spent - this.#reported;
    this.#reported = spent;
    return fresh;
  }

  /** Whether the evaluation has yielded: parts of it may still be waiting to continue. */
  get hasPaused(): boolean {
    return this.#hasPaused;
  }

  /** Stops everything of an evaluation that has ended. */
  end(): void {
    this.#slices = null;
  }

  get isSliceOver(): boolean {
    return this.#left <= this.#pauseAt && this.#left >= 0;
  }

  /** Resolves when the next slice begins; never if the evaluation has ended meanwhile because of another fault. */
  async nextSlice(): Promise<void> {
    this.#hasPaused = true;
    const slices = this.#slices;
    slices?.spend(this.takeSpent());
    await slices?.nextSlice();
    if (this.#slices === null) await new Promise(() => undefined);
    this.#schedulePause();
  }

  #schedulePause(): void {
    this.#pauseAt = this.#slices === null ? Number.NEGATIVE_INFINITY : this.#left - this.#slices.leftInSlice;
  }

  /** Whether a limit below `WORK_MAX` ended the evaluation: with a larger one it might have finished. */
  get isCutShort(): boolean {
    return this.#left < 0 && this.#limit < WORK_MAX;
  }

  spend(units: number): void {
    this.#left -= units;
    if (this.#left < 0) {
      throw new Error(`takes more than ${WORK_MAX} steps; read fewer values, or nest fewer macros`);
    }
  }

  /** Cost of going over a value once, without the contents of its elements. */
  spendOn(value: unknown): void {
    if (typeof value === 'string' || Array.isArray(value)) this.spend(value.length / ELEMENTS_PER_UNIT);
    else if (typeof value === 'object' && value !== null) this.spend(this.#typingCost(value));
  }

  /** Cost of determining the type of an operand: the library lists the members of an object for it. */
  spendOnType(value: unknown): void {
    if (typeof value === 'object' && value !== null) this.spend(this.#typingCost(value));
  }

  #typingCost(value: object): number {
    let cost = 0;
    const chain: [object, number][] = [];
    for (let at: unknown = value; typeof at === 'object' && at !== null;) {
      const known = this.#typing.get(at);
      if (known !== undefined) {
        cost = known;
        break;
      }
      const [size, first]: [number, unknown] = Array.isArray(at) ? [0, at[0] as unknown] : sizeAndFirst(at);
      chain.push([at, size * UNITS_PER_MEMBER]);
      at = first;
    }
    for (const [inner, own] of chain.reverse()) {
      cost += own;
      this.#typing.set(inner, cost);
    }
    return cost;
  }

  /** Cost of comparing a value with another. */
  spendOnComparing(value: unknown): void {
    this.spend(this.#depthCost(value, 0));
  }

  /** Cost of searching for `needle`: long needles make a search restart often. */
  spendOnSearching(text: string, needle: string): void {
    this.spend((text.length / CHARS_PER_UNIT) * Math.max(1, needle.length / ELEMENTS_PER_UNIT));
  }

  /** Runs `text.matches(pattern)` in time linear in the text. */
  matches(text: string, source: string): boolean {
    let pattern = this.#patterns.get(source);
    if (pattern === undefined) {
      if (this.#patterns.size >= PATTERNS_KEPT) this.#patterns.clear();
      this.spend(source.length);
      pattern = compilePattern(source);
      this.#patterns.set(source, pattern);
    }
    return runPattern(pattern, text, (steps) => this.spend(steps / 4));
  }

  /** Walks each value once per evaluation, however often it is referenced. */
  #depthCost(value: unknown, depth: number): number {
    if (typeof value === 'string') return 0.1 + value.length / CHARS_PER_UNIT;
    if (typeof value !== 'object' || value === null) return 0.1;
    const known = this.#costs.get(value);
    if (known !== undefined) return known;
    if (depth > 500) throw new Error('compares values that are nested too deeply');
    const elements = elementsOf(value);
    let cost = 1 + (Array.isArray(value) ? 0 : elements.length * UNITS_PER_MEMBER);
    for (const inner of elements) cost += this.#depthCost(inner, depth + 1);
    this.#costs.set(value, cost);
    this.spend(1 + elements.length / ELEMENTS_PER_UNIT);
    return cost;
  }
}

function elementsOf(value: object): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  if (value instanceof Map) return [...value.values()];
  return isPlain(value) ? (Object.values(value) as unknown[]) : [];
}

function sizeAndFirst(value: object): [number, unknown] {
  if (value instanceof Map) return [value.size, value.values().next().value];
  if (!isPlain(value)) return [1, undefined];
  const names = Object.keys(value);
  return [names.length, names.length === 0 ? undefined : (value as Record<string, unknown>)[names[0]!]];
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
