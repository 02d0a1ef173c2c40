import type { Requirements } from '@heddle/base/vocabulary/requirements';
import { aliveIn, batchesOf, WARM_NAMESPACE } from './batches.ts';
import type { PoolContext } from './context.ts';
import type { LaunchHealth } from './launch-health.ts';
import type { IdleTarget, IdleTargets } from './min-idle.ts';
import { PlanWatch } from './plan-watch.ts';
import type { LaunchObstacle } from './pool-port.ts';
import type { ClassCensus, NewBatch } from './port/store.ts';

/** Consecutive failed launches that open the breaker; then one runner at a time is tried. */
const FAILURES_MAX = 3;
/** Processes that make the same plan within this time launch it only once. */
const SAME_PLAN_MS = 5_000;

/** Maintains the minimum of idle runners that the policy sets for the current minute. */
export class Replenisher {
  readonly #context: PoolContext;
  readonly #health: LaunchHealth;
  readonly #targets: IdleTargets;
  readonly #watch: PlanWatch;
  #obstacles: readonly LaunchObstacle[] = [];

  constructor(context: PoolContext, health: LaunchHealth, targets: IdleTargets) {
    this.#context = context;
    this.#health = health;
    this.#targets = targets;
    this.#watch = new PlanWatch(context.store, health);
  }

  get obstacles(): readonly LaunchObstacle[] {
    return this.#obstacles;
  }

  /** Returns how many runners it planned. */
  async runOnce(): Promise<number> {
    const { store, clock, policy } = this.#context;
    const now = clock.now();
    const targets = this.#targets.at(now);
    this.#obstacles = [];
    if (targets.length === 0) return 0;
    const census = await store.census();
    await this.#watch.update(targets.map(requirementsOf));
    // Waiting requests come first: capacity that they need is not used.
    let capacity = policy.max_runners - aliveIn(census) - census.reduce((sum, row) => sum + lackOf(row), 0);
    const obstacles: LaunchObstacle[] = [];
    const batches: NewBatch[] = [];
    for (const target of targets) {
      const row = census.find((one) => isOf(one, target));
      const wanted = this.#wanted(target, row, obstacles);
      const count = Math.min(wanted, Math.max(0, capacity));
      if (count < wanted) obstacles.push(this.#noCapacity(target));
      if (count === 0) continue;
      capacity -= count;
      const seen = `${row?.created ?? 0} ${row?.idle ?? 0}`;
      const key = `idle ${target.resource_class} ${target.usage_class} ${seen} ${Math.floor(now / SAME_PLAN_MS)}`;
      const planned = { requirements: requirementsOf(target), count, namespace: WARM_NAMESPACE, key, coming: null };
      batches.push(...(batchesOf(this.#context, planned) ?? []));
    }
    this.#obstacles = obstacles;
    if (batches.length === 0) return 0;
    await store.plan(batches, policy.max_runners);
    this.#watch.follow(batches);
    return batches.reduce((sum, { runner_ids }) => sum + runner_ids.length, 0);
  }

  /** Returns the number of missing runners: 0 while the breaker is open, 1 while it is half-open. */
  #wanted(target: IdleTarget, row: ClassCensus | undefined, obstacles: LaunchObstacle[]): number {
    const coming = Math.max(0, (row?.created ?? 0) - (row?.waiting ?? 0));
    const missing = target.count - (row?.idle ?? 0) - coming;
    if (missing <= 0) return 0;
    const requirements = requirementsOf(target);
    const failing = this.#health.of(requirements);
    if (failing === null) return missing;
    if (!this.#health.holdsBack(requirements)) {
      // The trial runner must have registered before the next launch.
      if (failing.failures < FAILURES_MAX) return missing;
      return coming > 0 ? 0 : 1;
    }
    const { reason, failures, retry_at } = failing;
    obstacles.push({ requirements, reason: `the last ${failures} launches failed: ${reason}`, retry_at });
    return 0;
  }

  #noCapacity({ resource_class, usage_class, count }: IdleTarget): LaunchObstacle {
    const reason = `${count} idle runners of ${resource_class} (${usage_class}) exceed the limit of ${this.#context.policy.max_runners} runners: end some, raise HEDDLE_POOL_MAX_RUNNERS or lower HEDDLE_POOL_MIN_IDLE`;
    return { requirements: null, reason, retry_at: null };
  }
}

function requirementsOf({ resource_class, usage_class }: IdleTarget): Requirements {
  return { resource_class, usage_class, allowed_instance_types: [], cpu: null, memory_mib: null };
}

/** Returns the number of runners that waiting requests still lack. */
function lackOf({ waiting, created }: ClassCensus): number {
  return Math.max(0, waiting - created);
}

function isOf(row: ClassCensus, target: IdleTarget): boolean {
  return row.resource_class === target.resource_class && row.usage_class === target.usage_class;
}
