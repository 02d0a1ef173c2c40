import { aliveIn, batchesOf } from './batches.ts';
import type { PoolContext } from './context.ts';
import type { LaunchHealth } from './launch-health.ts';
import { PlanWatch } from './plan-watch.ts';
import type { LaunchObstacle } from './pool-port.ts';
import { lackingOf, type NewBatch, type RunnerRequest, type Shortage } from './port/store.ts';
import { waitingPages } from './waiting-pages.ts';

const PAGE = 500;
/** After so long without a clear answer whether somebody idle could serve it, a request counts as one that nobody can. */
const UNCERTAIN_MS = 10_000;
/** Who plans the same within so long plans it once. */
const SAME_PLAN_MS = 2_000;
const OBSTACLES_MAX = 100;
/** For so long a request that waits for room is not overtaken more often where no server looks after it. */
const ROOM_LEASE_MS = 30_000;
/** Grants to others, for each runner that may exist, after which nobody overtakes a request that waits for room. */
export const OVERTAKES_FOR_EACH = 2;

/** What a pass works on: what there is room for, and what waiting requests of each shape still find. */
interface Pass {
  readonly now: number;
  room: number;
  readonly shapes: Map<number, ShapePlan>;
  readonly obstacles: LaunchObstacle[];
  /** The first request that the pool was too full for was looked after. */
  isFull: boolean;
  /** Runners that were ended for it. */
  evicted: number;
}

export interface Planned {
  /** Runners. */
  readonly planned: number;
  /** Idle runners that were ended to make room. */
  readonly evicted: number;
}

interface ShapePlan {
  readonly shortage: Shortage;
  /** Runners on their way, and idle ones, that nobody before in the queue has counted on. */
  unspoken: number;
  missing: number;
  /** The first request that lacks some. */
  maker: string;
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

  /** Why the last pass planned less than was wanted. */
  get obstacles(): readonly LaunchObstacle[] {
    return this.#obstacles;
  }

  async runOnce(): Promise<Planned> {
    const { store, clock, policy } = this.#context;
    const shortages = await store.shortages();
    this.#obstacles = [];
    const lacking = shortages.filter(({ wanted, coming }) => wanted > coming);
    if (lacking.length === 0) return { planned: 0, evicted: 0 };
    await this.#watch.learn(lacking.map(({ requirements }) => requirements));
    const room = Math.max(0, policy.max_runners - aliveIn(await store.census()));
    const pass: Pass = { now: clock.now(), room, shapes: new Map(), obstacles: [], isFull: false, evicted: 0 };
    const known = new Map(shortages.map((shortage) => [shortage.shape_id, shortage]));
    // However many wait for what is not to be had, those behind them have their runners planned.
    const plannable = lacking.filter(({ requirements }) => !this.#health.holdsBack(requirements));
    const shapeIds = plannable.map(({ shape_id }) => shape_id);
    for await (const page of waitingPages(store, PAGE, Number.POSITIVE_INFINITY, shapeIds)) {
      for (const request of page) await this.#allot(request, known, pass);
      if (isOver(pass)) break;
    }
    return { planned: await this.#plan(pass), evicted: pass.evicted };
  }

  /** Counts what one request lacks against what is on its way, then against the room that is left. */
  async #allot(request: RunnerRequest, shortages: ReadonlyMap<number, Shortage>, pass: Pass): Promise<void> {
    if (isOver(pass) || !isExhausted(request, pass.now)) return;
    const plan = this.#shapeOf(request, shortages, pass);
    if (plan === null || plan.heldBack) return;
    const lacking = lackingOf(request);
    const found = Math.min(plan.unspoken, lacking);
    plan.unspoken -= found;
    const missing = lacking - found;
    if (missing === 0) return;
    if (missing > pass.room && !(await this.#makeRoom(request, missing, plan, pass))) {
      this.#crowdedOut(request, pass);
      return;
    }
    pass.room -= missing;
    if (plan.missing === 0) plan.maker = request.id;
    plan.missing += missing;
  }

  /** Room for the first request that the pool is too full for: idle runners that nobody before it fits make way. */
  async #makeRoom(request: RunnerRequest, missing: number, plan: ShapePlan, pass: Pass): Promise<boolean> {
    if (pass.isFull) return false;
    pass.isFull = true;
    const { store, policy } = this.#context;
    const { max_runners } = policy;
    if (request.count > max_runners || (missing > 1 && !this.#reserves(request, pass))) return false;
    const evicted = await store.makeRoom({
      request_id: request.id,
      // What this pass plans for those before it is not there yet.
      missing: missing + [...pass.shapes.values()].reduce((sum, { missing }) => sum + missing, 0),
      coming: plan.shortage.coming,
      max_runners,
      overtakes: OVERTAKES_FOR_EACH * max_runners,
      lease_ms: ROOM_LEASE_MS,
    });
    pass.evicted = evicted;
    pass.room += evicted;
    return missing <= pass.room;
  }

  #shapeOf(request: RunnerRequest, shortages: ReadonlyMap<number, Shortage>, pass: Pass): ShapePlan | null {
    const known = pass.shapes.get(request.shape_id);
    if (known !== undefined) return known;
    const shortage = shortages.get(request.shape_id);
    // It came after the shortages were counted: the next pass sees both.
    if (shortage === undefined) return null;
    this.#learn(request, shortage);
    const heldBack = this.#health.holdsBack(shortage.requirements) || !this.#isOffered(shortage, pass);
    const unspoken = shortage.coming + (shortage.idle ?? 0);
    const plan = { shortage, unspoken, missing: 0, maker: request.id, heldBack };
    pass.shapes.set(request.shape_id, plan);
    return plan;
  }

  /** What is none of this pool's takes no room from the others. */
  #isOffered({ requirements }: Shortage, { obstacles }: Pass): boolean {
    const { resource_class } = requirements;
    if (this.#context.policy.classes.some(({ name }) => name === resource_class)) return true;
    const reason = `the class ${resource_class} is none of this pool: add it to HEDDLE_POOL_CLASSES, or end the request`;
    obstacles.push({ requirements, reason, retry_at: null });
    return false;
  }

  /** Takes note of a launch that failed in another process: nothing is on its way, and the request says why. */
  #learn({ reason }: RunnerRequest, { requirements, coming }: Shortage): void {
    if (reason === null || coming > 0 || this.#health.of(requirements) !== null) return;
    this.#health.failed(requirements, reason, 'capacity');
  }

  /**
   * For several at once that do not fit into the room: for a while after their patience has ended, what room there is
   * stays for them. Not for ever, or runners that never end would keep everybody else waiting too.
   */
  #crowdedOut(request: RunnerRequest, pass: Pass): void {
    const { max_runners } = this.#context.policy;
    const isPossible = request.count <= max_runners;
    if (pass.room > 0 && pass.obstacles.length < OBSTACLES_MAX) {
      const remedy = isPossible ? 'end some, or raise HEDDLE_POOL_MAX_RUNNERS' : 'raise HEDDLE_POOL_MAX_RUNNERS';
      const reason = `at most ${max_runners} runners may exist, and request ${request.id} asks for ${request.count} of ${request.resource_class}: ${remedy}`;
      pass.obstacles.push({ requirements: null, reason, retry_at: null });
    }
    if (isPossible && this.#reserves(request, pass)) pass.room = 0;
  }

  #reserves({ created_at }: RunnerRequest, { now }: Pass): boolean {
    const { times } = this.#context.policy;
    const waited = now - created_at;
    return waited >= times.patience_ms && waited < times.patience_ms + 2 * times.idle_ms;
  }

  async #plan(pass: Pass): Promise<number> {
    const batches: NewBatch[] = [];
    const slot = Math.floor(pass.now / SAME_PLAN_MS);
    for (const { shortage, missing, maker } of pass.shapes.values()) {
      if (missing === 0) continue;
      const { requirements, coming } = shortage;
      const key = `launch ${coming} ${slot}`;
      batches.push(...(batchesOf(this.#context, { requirements, count: missing, maker, key, coming }) ?? []));
    }
    if (pass.room === 0 && pass.obstacles.length === 0) pass.obstacles.push(this.#full());
    this.#obstacles = pass.obstacles;
    if (batches.length === 0) return 0;
    await this.#context.store.plan(batches, this.#context.policy.max_runners);
    this.#watch.note(batches);
    return batches.reduce((sum, { runner_ids }) => sum + runner_ids.length, 0);
  }

  #full(): LaunchObstacle {
    const { max_runners } = this.#context.policy;
    const reason = `all ${max_runners} runners that may exist do: end some, or raise HEDDLE_POOL_MAX_RUNNERS`;
    return { requirements: null, reason, retry_at: null };
  }
}

/** There is no room for anybody, and whoever it is missing for was looked after. */
function isOver({ room, isFull }: Pass): boolean {
  return room === 0 && isFull;
}

/** Whether it is settled that no idle runner can serve it. */
function isExhausted({ exhaustion, created_at }: RunnerRequest, now: number): boolean {
  return exhaustion === 'global' || exhaustion === 'local' || now - created_at >= UNCERTAIN_MS;
}
