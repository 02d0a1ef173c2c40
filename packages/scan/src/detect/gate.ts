import type { Clock } from '@heddle/base/clock';
import type { ObjectGate } from './layer.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';

/** An object as rules see it before its bytes; the path is bytes as latin1. */
export interface ScannedObject {
  path: string;
  commit: string | undefined;
}

/** Returns whether a rule looks at an object, by the path and the commit. */
export function appliesTo(
  { guarded, path: where, allowlists }: CompiledRule,
  { path, commit }: ScannedObject,
): boolean {
  if (!guarded) return true;
  return (where === null || where.test(path)) && !allowlists.some((list) => list.allowsObject(path, commit));
}

/**
 * One search in this many is timed, and stands for all of them: the clock costs as much as a search. The steps of each
 * search are bounded, so the first ones need no clock.
 */
const SAMPLED = 16;

/** Decides which rules apply to one object and tracks the time each has spent on it. */
export class RuleGate implements ObjectGate {
  readonly timedOut: string[] = [];
  readonly #object: ScannedObject;
  /** Of rules whose keywords occurred. */
  readonly #applies = new Map<CompiledRule, boolean>();
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #spent = new Map<CompiledRule, { searches: number; ms: number }>();

  constructor(object: ScannedObject, clock: Clock, timeoutMs: number) {
    this.#object = object;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  applies(rule: CompiledRule): boolean {
    if (!rule.guarded && this.timedOut.length === 0) return true;
    let applies = this.#applies.get(rule);
    if (applies === undefined) this.#applies.set(rule, (applies = appliesTo(rule, this.#object)));
    return applies;
  }

  /** Milliseconds that each rule has spent. */
  get spent(): [CompiledRule, number][] {
    return [...this.#spent].map(([rule, { ms }]) => [rule, ms]);
  }

  /** Charges time that was spent elsewhere. Returns false, and charges nothing, if a rule would exceed its limit. */
  charge(spent: readonly (readonly [CompiledRule, number])[]): boolean {
    const sums = spent.map(([rule, ms]) => [rule, ms + (this.#spent.get(rule)?.ms ?? 0)] as const);
    if (sums.some(([, ms]) => ms > this.#timeoutMs)) return false;
    for (const [rule, ms] of sums) this.#spent.set(rule, { searches: this.#spent.get(rule)?.searches ?? 0, ms });
    return true;
  }

  timed<T>(rule: CompiledRule, search: () => T): T {
    let spent = this.#spent.get(rule);
    if (spent === undefined) this.#spent.set(rule, (spent = { searches: 0, ms: 0 }));
    if (++spent.searches % SAMPLED !== 0) return search();
    const before = this.#clock.monotonic();
    const result = search();
    spent.ms += SAMPLED * (this.#clock.monotonic() - before);
    if (spent.ms > this.#timeoutMs && this.applies(rule)) {
      this.#applies.set(rule, false);
      this.timedOut.push(rule.rule.id);
    }
    return result;
  }
}
