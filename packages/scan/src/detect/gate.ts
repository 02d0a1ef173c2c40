import type { Clock } from '@heddle/base/clock';
import type { ObjectGate } from './layer.ts';
import type { DetectionPlan } from './plan.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';

/** Returns null if an allow list exempts the whole object; else the rules that do not apply to it. */
export function excludedRules(plan: DetectionPlan, path: string, commit: string | undefined): Set<CompiledRule> | null {
  if (plan.allowlists.some((list) => list.looksAtObjects && list.allowsObject(path, commit))) return null;
  const out = new Set<CompiledRule>();
  for (const rule of plan.guarded) {
    const elsewhere = rule.path !== null && !rule.path.test(path);
    if (elsewhere || rule.allowlists.some((list) => list.allowsObject(path, commit))) out.add(rule);
  }
  return out;
}

/** After this many searches of a rule, only one in as many is timed, and stands for all: the clock costs as much as a search. */
const SAMPLED = 16;

/** Decides which rules apply to one object and tracks the time each has spent on it. */
export class RuleGate implements ObjectGate {
  readonly timedOut: string[] = [];
  readonly #out: Set<CompiledRule>;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #spent = new Map<CompiledRule, { searches: number; ms: number }>();

  constructor(out: Set<CompiledRule>, clock: Clock, timeoutMs: number) {
    this.#out = out;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  applies(rule: CompiledRule): boolean {
    return this.#out.size === 0 || !this.#out.has(rule);
  }

  timed<T>(rule: CompiledRule, search: () => T): T {
    let spent = this.#spent.get(rule);
    if (spent === undefined) this.#spent.set(rule, (spent = { searches: 0, ms: 0 }));
    const stands = spent.searches < SAMPLED ? 1 : SAMPLED;
    if (spent.searches++ % stands !== 0) return search();
    const before = this.#clock.monotonic();
    const result = search();
    spent.ms += stands * (this.#clock.monotonic() - before);
    if (spent.ms > this.#timeoutMs && !this.#out.has(rule)) {
      this.#out.add(rule);
      this.timedOut.push(rule.rule.id);
    }
    return result;
  }
}
