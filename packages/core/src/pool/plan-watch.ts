import { isWantedEnd } from '../domain/runner/end-reasons.ts';
import { shapeKeyOf, type Requirements } from '@heddle/base/vocabulary/requirements';
import type { Runner } from '../domain/runner/runner.ts';
import type { LaunchHealth } from './launch-health.ts';
import type { NewBatch, RunnerStore } from './port/store.ts';

/** Limits of plans that are followed at a time, and of runners checked per plan. */
const PLANS_MAX = 100;
const RUNNERS_PER_PLAN = 10;

interface Plan {
  readonly requirements: Requirements;
  readonly ids: readonly string[];
  /** Failures known when the plan was made. */
  readonly failures: number;
}

/**
 * Follows the plans of this process until one of the runners registers or all of them end, whichever process launched
 * them. This also detects launches that succeeded but whose runners never registered.
 */
export class PlanWatch {
  readonly #store: Pick<RunnerStore, 'list'>;
  readonly #health: LaunchHealth;
  readonly #plans = new Map<string, Plan>();

  constructor(store: Pick<RunnerStore, 'list'>, health: LaunchHealth) {
    this.#store = store;
    this.#health = health;
  }

  follow(batches: readonly NewBatch[]): void {
    for (const { requirements, runner_ids } of batches) {
      const key = shapeKeyOf(requirements);
      const failures = this.#health.of(requirements)?.failures ?? 0;
      this.#plans.delete(key);
      this.#plans.set(key, { requirements, ids: runner_ids.slice(0, RUNNERS_PER_PLAN), failures });
      if (this.#plans.size > PLANS_MAX) this.#plans.delete(this.#plans.keys().next().value!);
    }
  }

  /** Records a failure for a plan none of whose runners registered. */
  #recordFailure(requirements: Requirements, ended: readonly Runner[]): void {
    // No runner is left if another process made the same plan first, and runners that were ended on purpose did not
    // fail; neither says anything about launches.
    const failed = ended.filter(({ reason }) => !isWantedEnd(reason));
    if (failed.length === 0) return;
    // Instances that start but never register need the attention of the operator.
    const fault = failed.some(({ provider_id }) => provider_id !== null) ? 'refused' : 'capacity';
    this.#health.failed(requirements, failed[0]!.reason ?? 'they ended', fault);
  }

  /** Checks the outcome of the plans for these requirements, which lack runners again. */
  async update(lacking: readonly Requirements[]): Promise<void> {
    const plans = lacking.flatMap((requirements) => this.#plans.get(shapeKeyOf(requirements)) ?? []);
    const ids = plans.flatMap((plan) => plan.ids);
    if (ids.length === 0) return;
    const runners = await this.#store.list({ ids }, { offset: 0, limit: ids.length });
    const known = new Map(runners.map((runner) => [runner.id, runner]));
    for (const { requirements, ids, failures } of plans) {
      const planned = ids.flatMap((id) => known.get(id) ?? []);
      const hasRegistered = planned.some(({ seen_at }) => seen_at !== null);
      if (!hasRegistered && planned.some(({ state }) => state !== 'terminated')) continue;
      this.#plans.delete(shapeKeyOf(requirements));
      if (hasRegistered) this.#health.succeeded(requirements);
      else if ((this.#health.of(requirements)?.failures ?? 0) === failures) this.#recordFailure(requirements, planned);
    }
  }
}
