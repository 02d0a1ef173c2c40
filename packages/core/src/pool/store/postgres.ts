import { isUuid } from '@heddle/base/ids';
import { END_REASONS } from '../../domain/runner/end-reasons.ts';
import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { Runner, RunnerMessage } from '../../domain/runner/runner.ts';
import { REQUEST_STATE_CODES, REQUEST_STATES } from '../../domain/runner/state.ts';
import { Coalescer } from '@heddle/base/coalescer';
import type { Database } from '../../store/database.ts';
import { claimIdle, claimNamed, findByInstance, readHeads, type ServedRow } from '../../store/runners/claims.ts';
import { FitCache } from '../../store/runners/fits.ts';
import type { StatementContext } from '../../store/runners/moment.ts';
import { classOf, runnersOfRequests } from '../../store/runners/reads.ts';
import {
  askForRunners,
  findRequests,
  listGranted,
  listWaiting,
  noteExhausted,
  withdrawRequests,
  type NewRequestRow,
  type RequestRow,
} from '../../store/runners/requests.ts';
import {
  confirmRunner,
  drainRunners,
  recordHeartbeat,
  readOrders,
  registerRunner,
  releaseRunner,
  terminateRunners,
} from '../../store/runners/signals.ts';
import { NoticeQueue, type QueuedNoticeContext } from '../../store/runners/notice-queue.ts';
import type { Served } from '../port/backend.ts';
import type { PoolHistory, PoolSample } from '../port/history.ts';
import type { LaunchBatch, LaunchedRunner, ProviderInstance } from '../port/provider.ts';
import {
  EXHAUSTIONS,
  type ClassCensus,
  type Claimed,
  type Exhaustion,
  type Grant,
  type LaunchRate,
  type NewBatch,
  type NewRequest,
  type Orders,
  type PoolTimes,
  type Registration,
  type RequestSource,
  type RequestWithRunners,
  type CapacityShortage,
  type RunnerFilter,
  type RunnerRequest,
  type RunnerStore,
  type Shortage,
  type SweepResult,
  type QueuePosition,
} from '../port/store.ts';
import { PostgresLaunches } from './postgres-launches.ts';
import { runnerOfRow } from './runner-of-row.ts';

export interface PostgresStoreOptions {
  readonly database: Database;
  /** If these three are omitted, the policy in the database applies. */
  readonly classes?: readonly ResourceClass[];
  readonly times?: PoolTimes;
  /** Number of claims after which a runner ends; null: unlimited. */
  readonly max_uses?: number | null;
  /** Time for statements; by default the clock of the database, so that servers need not agree on the time. */
  readonly now?: () => string | null;
  /** Number of unused tenants, shapes and types that are kept (default 1,000). */
  readonly unused_kept?: number;
}

/** The index is the code in the database. */
const SOURCES: readonly RequestSource[] = ['task', 'holder'];

/** Maximum number of requests per statement, and in the queue. */
const SET_MAX = 500;
const WAITING_MAX = 20_000;
const UNKNOWN_ID = '00000000-0000-0000-0000-000000000000';
/**
 * Maximum number of rounds that offer an idle runner to waiting requests; the next pass of the pool handles the rest.
 */
const OFFER_ROUNDS_MAX = 8;

/** The source of truth for runners and requests, in PostgreSQL. Concurrent single requests are combined into sets. */
export class PostgresRunnerStore implements RunnerStore, PoolHistory {
  readonly #database: Database;
  readonly #fits: FitCache;
  readonly #launches: PostgresLaunches;
  readonly #context: () => QueuedNoticeContext;
  readonly #asks: Coalescer<NewRequest, undefined>;
  readonly #claims: Coalescer<string, ServedRow | null>;

  constructor({ database, classes, times, max_uses, now = () => null, unused_kept }: PostgresStoreOptions) {
    const timesText = JSON.stringify({ ...times, max_uses });
    const quietText = JSON.stringify({ ...times, max_uses, quiet: true });
    const { notify } = new NoticeQueue(database);
    this.#database = database;
    this.#fits = new FitCache(classes);
    this.#context = () => ({ now: now(), times: quietText, notify });
    const context = (): StatementContext => ({ now: now(), times: timesText });
    this.#launches = new PostgresLaunches({
      ...{ database, shapesAndTypes: this.#fits, context },
      ...(unused_kept === undefined ? {} : { unusedKept: unused_kept }),
    });
    this.#asks = new Coalescer({
      flush: async (requests) => {
        await this.#askAll(requests);
        return requests.map(() => undefined);
      },
      maxItems: SET_MAX,
      maxWaiting: WAITING_MAX,
    });
    this.#claims = new Coalescer({
      flush: async (ids) => {
        const rows = await claimIdle(this.#database, ids.length, ids, this.#context());
        const served = new Map(rows.map((row) => [row.request_id, row]));
        return ids.map((id) => {
          const row = served.get(id) ?? null;
          // A request that was added twice is granted once.
          served.delete(id);
          return row;
        });
      },
      maxItems: SET_MAX,
      maxUnderWay: 2,
      maxWaiting: WAITING_MAX,
    });
  }

  async ask(requests: readonly NewRequest[]): Promise<void> {
    if (requests.length === 0) return;
    const invalid = requests.find(({ source, run }) => source === 'task' && !isUuid(run));
    if (invalid !== undefined) {
      throw new TypeError(
        `The request ${invalid.id} has the source task, but its run is not a task ID: ${invalid.run}`,
      );
    }
    if (requests.length === 1) await this.#asks.add(requests[0]!);
    else await this.#askAll(requests);
  }

  async #askAll(requests: readonly NewRequest[]): Promise<void> {
    const context = this.#context();
    const known = this.#fits.knownShapeIds(requests);
    if (known !== null) {
      if (await askForRunners(this.#database, requestRows(requests, known), context)) return;
      this.#fits.clear();
    }
    const notices = await this.#database.transaction(async (tx) => {
      let deferred: string | null = null;
      const rows = requestRows(requests, await this.#fits.shapeIds(tx, requests));
      await askForRunners(tx, rows, { ...context, notify: (value) => (deferred = value) });
      return deferred;
    });
    // Sent after the commit, since receivers read the database at once.
    context.notify(notices);
  }

  async request(id: string): Promise<RequestWithRunners | null> {
    return (await this.requests([id]))[0] ?? null;
  }

  async requests(ids: readonly string[]): Promise<RequestWithRunners[]> {
    const rows = await findRequests(this.#database, ids.filter(isUuid));
    const holding = rows.flatMap(({ id, state, kept }) =>
      state === REQUEST_STATE_CODES.granted || kept > 0 ? [id] : [],
    );
    const runners = holding.length === 0 ? [] : await runnersOfRequests(this.#database, holding);
    const runnersOf = Map.groupBy(runners.map(runnerOfRow), ({ request_id }) => request_id);
    return rows.map((row) => ({ ...requestOf(row), runners: runnersOf.get(row.id) ?? [] }));
  }

  async waiting(limit: number, after?: QueuePosition, shapeIds?: readonly number[]): Promise<RunnerRequest[]> {
    return (await listWaiting(this.#database, limit, after, shapeIds)).map(requestOf);
  }

  async granted(limit: number): Promise<RunnerRequest[]> {
    return (await listGranted(this.#database, limit)).map(requestOf);
  }

  async withdraw(requestIds: readonly string[], reason: string): Promise<void> {
    if (requestIds.length === 0) return;
    await this.#offer(await withdrawRequests(this.#database, requestIds, reason, this.#context()));
  }

  async noteExhausted(exhausted: readonly { request_id: string; exhaustion: Exhaustion }[]): Promise<void> {
    if (exhausted.length === 0) return;
    const codes = exhausted.map(({ exhaustion }) => EXHAUSTIONS.indexOf(exhaustion));
    await noteExhausted(
      this.#database,
      exhausted.map(({ request_id }) => request_id),
      codes,
    );
  }

  async claimIdle(limit: number, requestIds?: readonly string[]): Promise<Grant[]> {
    if (limit <= 0 || requestIds?.length === 0) return [];
    const rows = await this.#claimIdle(limit, requestIds ?? null);
    return rows.flatMap((row) => grantOf(row) ?? []);
  }

  /** Tries to serve these waiting requests with idle runners; returns why for each request that still waits. */
  async serveIdle(requestIds: readonly string[]): Promise<Served[]> {
    if (requestIds.length === 0) return [];
    const rows = await this.#claimIdle(requestIds.length, requestIds);
    const served = new Map(rows.map((row) => [row.request_id, row]));
    return requestIds.map((request_id) => {
      const row = served.get(request_id);
      if (row === undefined) return { request_id, grant: null, exhaustion: null };
      return {
        request_id,
        grant: grantOf(row),
        exhaustion: row.exhaustion === null ? null : EXHAUSTIONS[row.exhaustion]!,
      };
    });
  }

  async #claimIdle(limit: number, requestIds: readonly string[] | null): Promise<ServedRow[]> {
    const [id, ...others] = requestIds ?? [];
    if (id === undefined || others.length > 0) return claimIdle(this.#database, limit, requestIds, this.#context());
    const row = await this.#claims.add(id);
    return row === null ? [] : [row];
  }

  async claim(requestId: string, runnerIds: readonly string[]): Promise<{ grant: Grant | null; answers: Claimed[] }> {
    const ids = await this.#runnerIds(runnerIds);
    const { answers, runners } = await claimNamed(this.#database, requestId, ids, this.#context());
    return { grant: runners === null ? null : { request_id: requestId, runners }, answers: answers as Claimed[] };
  }

  /** Replaces EC2 instance IDs by runner IDs; unknown instances get an ID that matches no runner. */
  async #runnerIds(given: readonly string[]): Promise<readonly string[]> {
    const instances = given.filter((id) => !isUuid(id));
    if (instances.length === 0) return given;
    const known = await findByInstance(this.#database, instances);
    return given.map((id) => (isUuid(id) ? id : (known.get(id) ?? UNKNOWN_ID)));
  }

  async register(registration: Registration): Promise<Orders | null> {
    const orders = await registerRunner(this.#database, registration, this.#context());
    if (orders?.state !== 'idle' || !(await this.#offer([orders.runner_id]))) return orders;
    return readOrders(this.#database, orders.runner_id, this.#context().now);
  }

  /** Returns the class of the runner that registers; null if there is none. */
  classOf({ runner_id, batch_id }: Pick<Registration, 'runner_id' | 'batch_id'>): Promise<string | null> {
    return classOf(this.#database, runner_id, batch_id);
  }

  /** Returns its orders without a heartbeat. */
  orders(runnerId: string): Promise<Orders | null> {
    return readOrders(this.#database, runnerId, this.#context().now);
  }

  heartbeat(runnerId: string): Promise<Orders | null> {
    return recordHeartbeat(this.#database, runnerId, this.#context());
  }

  confirm(runnerId: string, epoch: number): Promise<boolean> {
    return confirmRunner(this.#database, runnerId, epoch, this.#context());
  }

  async release(runnerId: string, epoch: number | null): Promise<boolean> {
    const { released, idle } = await releaseRunner(this.#database, runnerId, epoch, this.#context());
    await this.#offer(idle);
    return released;
  }

  drain(runnerIds: readonly string[], reason: string): Promise<number> {
    return drainRunners(this.#database, runnerIds, reason, this.#context());
  }

  terminate(runnerIds: readonly string[], reason: string): Promise<number> {
    return terminateRunners(this.#database, runnerIds, reason, this.#context());
  }

  unoffered(limit: number, before: number): Promise<RunnerMessage[]> {
    return this.#launches.unoffered(limit, before);
  }

  shortages(): Promise<Shortage[]> {
    return this.#launches.shortages();
  }

  plan(batches: readonly NewBatch[], maxRunners?: number): Promise<void> {
    return this.#launches.plan(batches, maxRunners);
  }

  freeCapacity(wanted: CapacityShortage): Promise<number> {
    return this.#launches.freeCapacity(wanted);
  }

  knownBatches(ids: readonly string[]): Promise<string[]> {
    return this.#launches.knownBatches(ids);
  }

  takeBatches(provider: string, limit: number, leaseMs: number, rate: LaunchRate): Promise<LaunchBatch[]> {
    return this.#launches.takeBatches(provider, limit, leaseMs, rate);
  }

  launched(batchId: string, runners: readonly LaunchedRunner[], missing: string | null): Promise<void> {
    return this.#launches.launched(batchId, runners, missing);
  }

  launchFailed(batchId: string, reason: string, retryAt: number | null): Promise<void> {
    return this.#launches.launchFailed(batchId, reason, retryAt);
  }

  sweep(
    limit: number,
    keep: readonly { resource_class: string; usage_class: string; count: number }[],
  ): Promise<SweepResult> {
    return this.#launches.sweep(limit, keep);
  }

  countEnded(limit: number): Promise<Readonly<Record<string, number>>> {
    return this.#launches.countEnded(limit);
  }

  leaving(provider: string, limit: number): Promise<{ id: string; provider_id: string }[]> {
    return this.#launches.leaving(provider, limit);
  }

  gone(runnerIds: readonly string[]): Promise<void> {
    return this.#launches.gone(runnerIds);
  }

  reconcile(provider: string, listed: readonly ProviderInstance[]): Promise<{ orphans: string[]; vanished: number }> {
    return this.#launches.reconcile(provider, listed);
  }

  census(): Promise<ClassCensus[]> {
    return this.#launches.census();
  }

  list(filter: RunnerFilter, page: { offset: number; limit: number }): Promise<Runner[]> {
    return this.#launches.list(filter, page);
  }

  forget(before: number, limit: number): Promise<number> {
    return this.#launches.forget(before, limit);
  }

  /** Drains runners whose types no longer match their classes; returns how many. */
  async refit(): Promise<number> {
    const { mismatched } = await this.#database.transaction((tx) => this.#fits.refit(tx));
    if (mismatched.length === 0) return 0;
    return this.drain(mismatched, END_REASONS.class_changed);
  }

  sample(): Promise<void> {
    return this.#launches.sample();
  }

  samples(from: number, limit: number): Promise<PoolSample[]> {
    return this.#launches.samples(from, limit);
  }

  /**
   * A request and a runner that arrive concurrently may not see each other. The later one to commit checks again,
   * waiting for concurrent checks; if these served other requests, it continues with the next ones. Returns whether a
   * request was served.
   */
  async #offer(idle: readonly string[]): Promise<boolean> {
    let served = false;
    let tried = new Set<string>();
    for (let round = 0; round < OFFER_ROUNDS_MAX && idle.length > 0; round += 1) {
      const heads = await readHeads(this.#database, idle, this.#context().now);
      if (heads.length === 0 || heads.some((id) => tried.has(id))) break;
      if ((await this.claimIdle(idle.length, heads)).length > 0) served = true;
      tried = new Set(heads);
    }
    return served;
  }
}

function requestRows(requests: readonly NewRequest[], shapeIds: readonly number[]): NewRequestRow[] {
  return requests.map(({ id, tenant, count, source, run, attempt, expires_at }, index) => {
    const expires = expires_at === null ? null : new Date(expires_at).toISOString();
    const shape_id = shapeIds[index]!;
    return { id, shape_id, tenant, count, source: SOURCES.indexOf(source), run, attempt, expires_at: expires };
  });
}

function grantOf({ request_id, runners }: ServedRow): Grant | null {
  return runners === null ? null : { request_id, runners };
}

function requestOf({ requirements, state, source, exhaustion, ...row }: RequestRow): RunnerRequest {
  return {
    ...row,
    ...requirements,
    state: REQUEST_STATES[state]!,
    source: SOURCES[source]!,
    exhaustion: exhaustion === null ? null : EXHAUSTIONS[exhaustion]!,
  };
}
