import { aliveIn, batchesOf } from './batches.ts';
import type { PoolContext } from './context.ts';
import type { LaunchHealth } from './launch-health.ts';
import { PlanWatch } from './plan-watch.ts';
import type { LaunchObstacle } from './pool-port.ts';
import { lackingOf, type NewBatch, type RunnerRequest, type Shortage } from './port/store.ts';
import { waitingPages } from './waiting-pages.ts';

const PAGE = 500;
/** A request without a definite answer from the backend counts as exhausted after this time. */
const UNCERTAIN_MS = 10_000;
/** Processes that make the same plan within this time launch it only once. */
const SAME_PLAN_MS = 2_000;
const OBSTACLES_MAX = 100;
/** Lease of the protection from overtaking that a request waiting for capacity has; each pass renews it. */
const CAPACITY_LEASE_MS = 30_000;
/** Grants to later requests, per runner of the limit, after which none overtakes a request that waits for capacity. */
export const OVERTAKES_FOR_EACH = 2;

/** State of one pass: the remaining capacity, and the runners available to each shape. */
interface Pass {
  readonly now: number;
  capacity: number;
  readonly shapes: Map<number, ShapePlan>;
  readonly obstacles: LaunchObstacle[];
  /** Whether the pass has handled the first request that exceeds the capacity. */
  isFull: boolean;
  /** Idle runners that were ended for that request. */
  evicted: number;
}

export interface Planned {
  /** Number of runners. */
  readonly planned: number;
  /** Idle runners that were ended to free capacity. */
  readonly evicted: number;
}

interface ShapePlan {
  readonly shortage: Shortage;
  /** Launching and idle runners that earlier requests do not need. */
  available: number;
  missing: number;
  /** ID of the first request that lacks runners. */
  namespace: string;
  readonly heldBack: boolean;
}

/** Plans launches for requests that no idle runner can serve. */
export class Provisioner {
  readonly #context: PoolContext;
  readonly #health: LaunchHealth;
  readonly #watch: PlanWatch;
  #obstacles: readonly LaunchObstacle[] = [];

  constructor(context: PoolContext, health: LaunchHealth) {
    this.#context = context;
    this.#health = health;
    this.#watch = new PlanWatch(context.store, health);
  }

  /** Why the last pass planned fewer runners than requested. */
  get obstacles(): readonly LaunchObstacle[] {
    return this.#obstacles;
  }

  async runOnce(): Promise<Planned> {
    const { store, clock, policy } = this.#context;
    const shortages = await store.shortages();
    this.#obstacles = [];
    const lacking = shortages.filter(({ wanted, coming }) => wanted > coming);
    if (lacking.length === 0) return { planned: 0, evicted: 0 };
    await this.#watch.update(lacking.map(({ requirements }) => requirements));
    const capacity = Math.max(0, policy.max_runners - aliveIn(await store.census()));
    const pass: Pass = { now: clock.now(), capacity, shapes: new Map(), obstacles: [], isFull: false, evicted: 0 };
    const known = new Map(shortages.map((shortage) => [shortage.shape_id, shortage]));
    // Requests whose launches are held back do not block the ones behind them.
    const plannable = lacking.filter(({ requirements }) => !this.#health.holdsBack(requirements));
    const shapeIds = plannable.map(({ shape_id }) => shape_id);
    for await (const page of waitingPages(store, PAGE, Number.POSITIVE_INFINITY, shapeIds)) {
      for (const request of page) await this.#allot(request, known, pass);
      if (isDone(pass)) break;
    }
    return { planned: await this.#plan(pass), evicted: pass.evicted };
  }

  /** Covers what a request lacks from available runners, then from the remaining capacity. */
  async #allot(request: RunnerRequest, shortages: ReadonlyMap<number, Shortage>, pass: Pass): Promise<void> {
    if (isDone(pass) || !isExhausted(request, pass.now)) return;
    const plan = this.#shapeOf(request, shortages, pass);
    if (plan === null || plan.heldBack) return;
    const lacking = lackingOf(request);
    const found = Math.min(plan.available, lacking);
    plan.available -= found;
    const missing = lacking - found;
    if (missing === 0) return;
    if (missing > pass.capacity && !(await this.#freeCapacity(request, missing, plan, pass))) {
      this.#reserveCapacity(request, pass);
      return;
    }
    pass.capacity -= missing;
    if (plan.missing === 0) plan.namespace = request.id;
    plan.missing += missing;
  }

  /** Frees capacity for the first request that exceeds it by ending idle runners that fit no earlier request. */
  async #freeCapacity(request: RunnerRequest, missing: number, plan: ShapePlan, pass: Pass): Promise<boolean> {
    if (pass.isFull) return false;
    pass.isFull = true;
    const { store, policy } = this.#context;
    const { max_runners } = policy;
    if (request.count > max_runners || (missing > 1 && !this.#reserves(request, pass))) return false;
    const evicted = await store.freeCapacity({
      request_id: request.id,
      // Includes the runners that this pass plans for earlier requests.
      missing: missing + [...pass.shapes.values()].reduce((sum, { missing }) => sum + missing, 0),
      coming: plan.shortage.coming,
      max_runners,
      overtakes: OVERTAKES_FOR_EACH * max_runners,
      lease_ms: CAPACITY_LEASE_MS,
    });
    pass.evicted = evicted;
    pass.capacity += evicted;
    return missing <= pass.capacity;
  }

  #shapeOf(request: RunnerRequest, shortages: ReadonlyMap<number, Shortage>, pass: Pass): ShapePlan | null {
    const known = pass.shapes.get(request.shape_id);
    if (known !== undefined) return known;
    const shortage = shortages.get(request.shape_id);
    // The request arrived after the shortages were counted; the next pass handles it.
    if (shortage === undefined) return null;
    this.#adoptFailure(request, shortage);
    const heldBack = this.#health.holdsBack(shortage.requirements) || !this.#isOffered(shortage, pass);
    const available = shortage.coming + (shortage.idle ?? 0);
    const plan = { shortage, available, missing: 0, namespace: request.id, heldBack };
    pass.shapes.set(request.shape_id, plan);
    return plan;
  }

  /** Requests for classes that this pool does not have use no capacity. */
  #isOffered({ requirements }: Shortage, { obstacles }: Pass): boolean {
    const { resource_class } = requirements;
    if (this.#context.policy.classes.some(({ name }) => name === resource_class)) return true;
    const reason = `the pool has no class ${resource_class}: add it to HEDDLE_POOL_CLASSES, or end the request`;
    obstacles.push({ requirements, reason, retry_at: null });
    return false;
  }

  /** Records a launch that failed in another process: no runner is launching, and the request has a failure reason. */
  #adoptFailure({ reason }: RunnerRequest, { requirements, coming }: Shortage): void {
    if (reason === null || coming > 0 || this.#health.of(requirements) !== null) return;
    this.#health.failed(requirements, reason, 'capacity');
  }

  /**
   * Reserves the remaining capacity for a gang that does not fit into it, for a while after its patience has ended. The
   * reservation is limited, so that runners that never end do not block all other requests too.
   */
  #reserveCapacity(request: RunnerRequest, pass: Pass): void {
    const { max_runners } = this.#context.policy;
    const isPossible = request.count <= max_runners;
    if (pass.capacity > 0 && pass.obstacles.length < OBSTACLES_MAX) {
      const remedy = isPossible ? 'end some, or raise HEDDLE_POOL_MAX_RUNNERS' : 'raise HEDDLE_POOL_MAX_RUNNERS';
      const reason = `the pool is limited to ${max_runners} runners, and request ${request.id} asks for ${request.count} of ${request.resource_class}: ${remedy}`;
      pass.obstacles.push({ requirements: null, reason, retry_at: null });
    }
    if (isPossible && this.#reserves(request, pass)) pass.capacity = 0;
  }

  #reserves({ created_at }: RunnerRequest, { now }: Pass): boolean {
    const { times } = this.#context.policy;
    const waited = now - created_at;
    return waited >= times.reserve_after_ms && waited < times.reserve_after_ms + 2 * times.idle_ms;
  }

  async #plan(pass: Pass): Promise<number> {
    const batches: NewBatch[] = [];
    const slot = Math.floor(pass.now / SAME_PLAN_MS);
    for (const { shortage, missing, namespace } of pass.shapes.values()) {
      if (missing === 0) continue;
      const { requirements, coming } = shortage;
      const key = `launch ${coming} ${slot}`;
      batches.push(...(batchesOf(this.#context, { requirements, count: missing, namespace, key, coming }) ?? []));
    }
    if (pass.capacity === 0 && pass.obstacles.length === 0) pass.obstacles.push(this.#full());
    this.#obstacles = pass.obstacles;
    if (batches.length === 0) return 0;
    await this.#context.store.plan(batches, this.#context.policy.max_runners);
    this.#watch.follow(batches);
    return batches.reduce((sum, { runner_ids }) => sum + runner_ids.length, 0);
  }

  #full(): LaunchObstacle {
    const { max_runners } = this.#context.policy;
    const reason = `the pool is at its limit of ${max_runners} runners: end some, or raise HEDDLE_POOL_MAX_RUNNERS`;
    return { requirements: null, reason, retry_at: null };
  }
}

/** Whether no capacity is left, and the first request that exceeds it has been handled. */
function isDone({ capacity, isFull }: Pass): boolean {
  return capacity === 0 && isFull;
}

/** Whether the request is known to find no idle runner. */
function isExhausted({ exhaustion, created_at }: RunnerRequest, now: number): boolean {
  return exhaustion === 'global' || exhaustion === 'local' || now - created_at >= UNCERTAIN_MS;
}
