import { runPattern } from './regex/match.ts';
import { compilePattern } from './regex/pattern.ts';
import type { Pattern } from './regex/pattern.ts';

/** Units of work that one evaluation may take; a step over one node is one unit, about 50 nanoseconds. */
export const WORK_MAX = 2_000_000;
/** Patterns that one evaluation keeps compiled. */
const PATTERNS_KEPT = 64;
const ELEMENTS_PER_UNIT = 16;
const CHARS_PER_UNIT = 64;

/**
 * Counts the work of one evaluation and ends it when it becomes too much: macros over lists nest, and texts and lists
 * can be doubled again and again.
 */
export class Meter {
  #left = WORK_MAX;
  #costs = new WeakMap<object, number>();
  readonly #patterns = new Map<string, Pattern>();

  /** Before an evaluation begins. */
  reset(): void {
    this.#left = WORK_MAX;
    this.#costs = new WeakMap();
  }

  spend(units: number): void {
    this.#left -= units;
    if (this.#left < 0) {
      throw new Error(`takes more than ${WORK_MAX} steps; look at fewer values, or nest fewer macros`);
    }
  }

  /** The work of going over a value once, without what lies inside its elements. */
  spendOn(value: unknown): void {
    this.spend(sizeOf(value) / ELEMENTS_PER_UNIT);
  }

  /** The work of comparing a value with another. */
  spendOnComparing(value: unknown): void {
    this.spend(this.#depthCost(value, 0));
  }

  /** The work of looking for `needle`: long needles make a search start again and again. */
  spendOnSearching(text: string, needle: string): void {
    this.spend((text.length / CHARS_PER_UNIT) * Math.max(1, needle.length / ELEMENTS_PER_UNIT));
  }

  /** `text.matches(pattern)` in time that grows linearly with the text. */
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

  /** Each value is walked once an evaluation, however often it is held. */
  #depthCost(value: unknown, depth: number): number {
    if (typeof value === 'string') return 0.1 + value.length / CHARS_PER_UNIT;
    if (typeof value !== 'object' || value === null) return 0.1;
    const known = this.#costs.get(value);
    if (known !== undefined) return known;
    if (depth > 500) throw new Error('compares values that are nested too deeply');
    let cost = 1;
    for (const inner of elementsOf(value)) cost += this.#depthCost(inner, depth + 1);
    this.#costs.set(value, cost);
    this.spend(1 + sizeOf(value) / ELEMENTS_PER_UNIT);
    return cost;
  }
}

function elementsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value)) return value as readonly unknown[];
  if (value instanceof Map) return value.values();
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? (Object.values(value) as unknown[]) : [];
}

/** Characters, elements or members. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  return value instanceof Map ? value.size : Object.keys(value).length;
}
