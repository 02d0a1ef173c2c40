import { isWantedEnd } from '../domain/runner/end-reasons.ts';
import { shapeKeyOf, type Requirements } from '../domain/runner/requirements.ts';
import type { Runner } from '../domain/runner/runner.ts';
import type { LaunchHealth } from './launch-health.ts';
import type { NewBatch, RunnerStore } from './port/store.ts';

/** Plans that are followed at once, and runners of each that are looked at. */
const PLANS_MAX = 100;
const RUNNERS_OF_EACH = 10;

interface Plan {
  readonly requirements: Requirements;
  readonly ids: readonly string[];
  /** Failures that were known when it was made. */
  readonly failures: number;
}

/**
 * Follows what this process planned until one of it has spoken or all of it has ended: whichever process launched it, and
 * also where the launch succeeded and nothing ever came of it.
 */
export class PlanWatch {
  readonly #store: Pick<RunnerStore, 'list'>;
  readonly #health: LaunchHealth;
  readonly #plans = new Map<string, Plan>();

  constructor(store: Pick<RunnerStore, 'list'>, health: LaunchHealth) {
    this.#store = store;
    this.#health = health;
  }

  note(batches: readonly NewBatch[]): void {
    for (const { requirements, runner_ids } of batches) {
      const key = shapeKeyOf(requirements);
      const failures = this.#health.of(requirements)?.failures ?? 0;
      this.#plans.delete(key);
      this.#plans.set(key, { requirements, ids: runner_ids.slice(0, RUNNERS_OF_EACH), failures });
      if (this.#plans.size > PLANS_MAX) this.#plans.delete(this.#plans.keys().next().value!);
    }
  }

  /** None of them has spoken. */
  #note(requirements: Requirements, ended: readonly Runner[]): void {
    // None is left where another process planned the same a moment before, and who was ended by somebody did not fail:
    // that tells nothing.
    const failed = ended.filter(({ reason }) => !isWantedEnd(reason));
    if (failed.length === 0) return;
    // Instances that come up and never speak need somebody to look after them.
    const fault = failed.some(({ provider_id }) => provider_id !== null) ? 'refused' : 'capacity';
    this.#health.failed(requirements, failed[0]!.reason ?? 'they ended', fault);
  }

  /** Learns what became of the plans for these, which lack runners again. */
  async learn(lacking: readonly Requirements[]): Promise<void> {
    const plans = lacking.flatMap((requirements) => this.#plans.get(shapeKeyOf(requirements)) ?? []);
    const ids = plans.flatMap((plan) => plan.ids);
    if (ids.length === 0) return;
    const runners = await this.#store.list({ ids }, { offset: 0, limit: ids.length });
    const known = new Map(runners.map((runner) => [runner.id, runner]));
    for (const { requirements, ids, failures } of plans) {
      const ones = ids.flatMap((id) => known.get(id) ?? []);
      const spoke = ones.some(({ seen_at }) => seen_at !== null);
      if (!spoke && ones.some(({ state }) => state !== 'terminated')) continue;
      this.#plans.delete(shapeKeyOf(requirements));
      if (spoke) this.#health.succeeded(requirements);
      else if ((this.#health.of(requirements)?.failures ?? 0) === failures) this.#note(requirements, ones);
    }
  }
}
