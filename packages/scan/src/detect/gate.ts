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

/** Decides which rules apply to one object and tracks the time each has spent on it. */
export class RuleGate implements ObjectGate {
  readonly timedOut: string[] = [];
  readonly #out: Set<CompiledRule>;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #spentMs = new Map<CompiledRule, number>();

  constructor(out: Set<CompiledRule>, clock: Clock, timeoutMs: number) {
    this.#out = out;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  applies(rule: CompiledRule): boolean {
    return this.#out.size === 0 || !this.#out.has(rule);
  }

  timed<T>(rule: CompiledRule, search: () => T): T {
    const before = this.#clock.monotonic();
    const result = search();
    const spent = (this.#spentMs.get(rule) ?? 0) + this.#clock.monotonic() - before;
    this.#spentMs.set(rule, spent);
    if (spent > this.#timeoutMs && !this.#out.has(rule)) {
      this.#out.add(rule);
      this.timedOut.push(rule.rule.id);
    }
    return result;
  }
}
