import type { Runner, RunnerMessage } from '@heddle/core/domain/runner/runner';
import type { LaunchBatch, LaunchedRunner, ProviderInstance } from '@heddle/core/pool/port/provider';
import type {
  ClassCensus,
  Claimed,
  Exhaustion,
  Grant,
  LaunchRate,
  NewBatch,
  NewRequest,
  Orders,
  Registration,
  RequestWithRunners,
  CapacityShortage,
  RunnerFilter,
  RunnerRequest,
  RunnerStore,
  QueuePosition,
  Shortage,
  SweepResult,
} from '@heddle/core/pool/port/store';
import type { KnownTypes } from '@heddle/core/internal/pool/port/types';
import { MemoryLaunches } from './launches.ts';
import { MemoryMoves } from './moves.ts';
import { censusOf, grantOf, knownTypesOf, messageOf, ordersOf, requestOf } from './reads.ts';
import { byNumber, byTurn, compareText, isHeld, lackOf, runnerOf, type RequestRow, type RunnerRow } from './rows.ts';
import { MemoryTables, type MemoryStoreOptions } from './tables.ts';
import { MemoryUpkeep } from './upkeep.ts';

export type { MemoryStoreOptions, TaskStates } from './tables.ts';

/** Threshold of a state without an end. */
const FAR_AWAY = Date.UTC(9999, 11, 31);

/**
 * In-memory runner store for tests, the reference for the PostgreSQL store. Every method completes its work
 * synchronously, so each is one transaction.
 */
export class MemoryRunnerStore implements RunnerStore {
  /** Lists instance types for backends that have a queue per type. */
  readonly types: KnownTypes = { list: () => answered(() => knownTypesOf(this.#tables)) };
  readonly #tables: MemoryTables;
  readonly #moves: MemoryMoves;
  readonly #launches: MemoryLaunches;
  readonly #upkeep: MemoryUpkeep;

  constructor(options: MemoryStoreOptions) {
    this.#tables = new MemoryTables(options);
    this.#moves = new MemoryMoves(this.#tables);
    this.#launches = new MemoryLaunches(this.#tables, this.#moves);
    this.#upkeep = new MemoryUpkeep(this.#tables, this.#moves);
  }

  ask(requests: readonly NewRequest[]): Promise<void> {
    return answered(() => {
      const tables = this.#tables;
      // A returning tenant starts at the current rank, so that it has no credit from its absence.
      const start = tables.waiting.items[0]?.rank ?? tables.highestRank;
      for (const request of requests) {
        if (tables.requests.has(request.id)) continue;
        const rank = Math.max(tables.tenants.get(request.tenant) ?? 0, start) + request.count;
        tables.tenants.set(request.tenant, rank);
        tables.highestRank = Math.max(tables.highestRank, rank);
        tables.addRequest(request, rank);
      }
    });
  }

  async request(id: string): Promise<RequestWithRunners | null> {
    return (await this.requests([id]))[0] ?? null;
  }

  requests(ids: readonly string[]): Promise<RequestWithRunners[]> {
    return answered(() =>
      this.#requestsOf(ids).map((row) => ({
        ...requestOf(row),
        runners: [...row.runners].sort(byNumber).map(runnerOf),
      })),
    );
  }

  waiting(limit: number, after?: QueuePosition, shapeIds?: readonly number[]): Promise<RunnerRequest[]> {
    return answered(() => {
      const all = this.#tables.waiting.items;
      const items = shapeIds === undefined ? all : all.filter(({ shape }) => shapeIds.includes(shape.id));
      const isLater = ({ rank, id }: RequestRow): boolean =>
        after === undefined || rank > after.rank || (rank === after.rank && id > after.id);
      const from = after === undefined ? 0 : items.findIndex(isLater);
      return from < 0 ? [] : items.slice(from, from + limit).map(requestOf);
    });
  }

  granted(limit: number): Promise<RunnerRequest[]> {
    return answered(() => {
      const granted = [...this.#tables.requests.values()].filter(({ state }) => state === 'granted');
      granted.sort((one, other) => other.granted_at! - one.granted_at! || compareText(other.id, one.id));
      return granted.slice(0, limit).map(requestOf);
    });
  }

  withdraw(requestIds: readonly string[], reason: string): Promise<void> {
    return answered(() => {
      for (const request of this.#requestsOf(requestIds)) {
        if (request.state !== 'ended') this.#moves.endRequest(request, reason);
      }
    });
  }

  noteExhausted(exhausted: readonly { request_id: string; exhaustion: Exhaustion }[]): Promise<void> {
    return answered(() => {
      for (const { request_id, exhaustion } of exhausted) {
        const request = this.#tables.requests.get(request_id);
        if (request?.state === 'waiting') request.exhaustion = exhaustion;
      }
    });
  }

  claimIdle(limit: number, requestIds?: readonly string[]): Promise<Grant[]> {
    return answered(() => {
      const asked =
        requestIds === undefined ? [...this.#tables.waiting.items] : this.#requestsOf(requestIds).sort(byTurn);
      const grants: Grant[] = [];
      // If a single runner of a shape was not found, later requests of the shape find none either.
      const exhausted = new Set<number>();
      for (const request of asked) {
        if (grants.length >= limit) break;
        if (!this.#moves.isServable(request) || exhausted.has(request.shape.id)) continue;
        const runners = this.#moves.pick(request);
        if (runners !== null) {
          this.#moves.grant(request, runners);
          grants.push(grantOf(request));
        } else if (lackOf(request) === 1) exhausted.add(request.shape.id);
      }
      return grants;
    });
  }

  claim(requestId: string, runnerIds: readonly string[]): Promise<{ grant: Grant | null; answers: Claimed[] }> {
    return answered(() => {
      const request = this.#tables.requests.get(requestId);
      const rows = runnerIds.map((id) => this.#tables.runners.get(id) ?? this.#tables.runnerAt('ec2', id));
      if (request === undefined || !this.#moves.isServable(request)) {
        // A repeated call after a lost answer gets the same result.
        const answers = rows.map((row) => (row?.request && row.request === request ? 'claimed' : 'settled'));
        return { grant: answers.includes('claimed') ? grantOf(request!) : null, answers };
      }
      const obstacles = rows.map((row) =>
        row?.type && !request.shape.types.has(row.type) ? 'gone' : this.#moves.obstacleFor(row, request),
      );
      const claimable = new Set(rows.filter((row, at) => row !== undefined && obstacles[at] === null));
      const taken = new Set([...claimable].slice(0, lackOf(request)));
      const isWhole = taken.size === lackOf(request);
      if (isWhole) this.#moves.grant(request, [...taken] as RunnerRow[]);
      const answers = rows.map((row, at) => obstacles[at] ?? (isWhole && taken.has(row) ? 'claimed' : 'settled'));
      return { grant: isWhole ? grantOf(request) : null, answers };
    });
  }

  unoffered(limit: number, before: number): Promise<RunnerMessage[]> {
    return answered(() => {
      const { live, now } = this.#tables;
      const isDue = (row: RunnerRow): boolean => row.state === 'idle' && (row.offered_at ?? -Infinity) < before;
      const due = [...live].filter((row) => isDue(row) && row.threshold > now).slice(0, limit);
      for (const row of due) row.offered_at = now;
      return due.map(messageOf);
    });
  }

  shortages(): Promise<Shortage[]> {
    return answered(() => this.#launches.shortages());
  }

  plan(batches: readonly NewBatch[], maxRunners?: number): Promise<void> {
    return answered(() => this.#launches.plan(batches, maxRunners ?? Infinity));
  }

  freeCapacity(wanted: CapacityShortage): Promise<number> {
    return answered(() => this.#launches.freeCapacity(wanted));
  }

  knownBatches(ids: readonly string[]): Promise<string[]> {
    return answered(() => ids.filter((id) => this.#tables.batches.has(id)));
  }

  takeBatches(provider: string, limit: number, leaseMs: number, rate: LaunchRate): Promise<LaunchBatch[]> {
    return answered(() => this.#launches.take(provider, limit, leaseMs, rate));
  }

  launched(batchId: string, runners: readonly LaunchedRunner[], missing: string | null): Promise<void> {
    return answered(() => this.#launches.launched(batchId, runners, missing));
  }

  launchFailed(batchId: string, reason: string, retryAt: number | null): Promise<void> {
    return answered(() => this.#launches.launchFailed(batchId, reason, retryAt));
  }

  register(registration: Registration): Promise<Orders | null> {
    return answered(() => {
      const row = this.#registered(registration);
      if (row === undefined || row.state === 'terminated') return null;
      if (row.provider_id !== null && row.provider_id !== registration.provider_id) return null;
      this.#tables.nameAt(row, registration.provider_id);
      row.address = registration.address;
      row.seen_at = this.#tables.now;
      if (row.state === 'created' && row.type !== null) this.#moves.arrive([row]);
      else this.#moves.offer([row]);
      return ordersOf(row, this.#tables.now);
    });
  }

  heartbeat(runnerId: string): Promise<Orders | null> {
    return answered(() => {
      const row = this.#liveRow(runnerId);
      if (row === undefined) return null;
      const isFirst = row.seen_at === null;
      row.seen_at = this.#tables.now;
      // The runner registered before its launch was recorded.
      if (row.state === 'created' && row.type !== null && !isFirst) this.#moves.arrive([row]);
      return ordersOf(row, this.#tables.now);
    });
  }

  confirm(runnerId: string, epoch: number): Promise<boolean> {
    return answered(() => {
      const row = this.#liveRow(runnerId);
      if (row?.epoch !== epoch || !isHeld(row.state)) return false;
      if (row.state === 'claimed') {
        if (row.threshold <= this.#tables.now) return false;
        row.seen_at = this.#tables.now;
        this.#tables.move(row, 'running', row.request);
        row.uses += 1;
        row.threshold = FAR_AWAY;
        const mates = [...row.request!.runners].filter((mate) => mate !== row);
        if (mates.every(({ state }) => state !== 'claimed'))
          for (const { id } of mates) this.#tables.options.notify?.(id);
      }
      return true;
    });
  }

  release(runnerId: string, epoch: number | null): Promise<boolean> {
    return answered(() => {
      const row = this.#liveRow(runnerId);
      if (row === undefined || (epoch !== null && row.epoch !== epoch)) return false;
      if (row.request === null) return row.state === 'idle';
      const { request } = row;
      if (epoch !== null) row.seen_at = this.#tables.now;
      // The reason of the drain becomes the reason of the requeued task.
      const reason = row.draining ? row.reason : null;
      this.#moves.endRequest(request, reason);
      return true;
    });
  }

  drain(runnerIds: readonly string[], reason: string): Promise<number> {
    return answered(() => {
      const rows = this.#liveRows(runnerIds);
      const free = rows.filter(({ state }) => !isHeld(state));
      const held = rows.filter(({ state, draining }) => isHeld(state) && !draining);
      this.#moves.end(free, reason);
      for (const row of held) {
        row.draining = true;
        row.reason = reason;
        this.#tables.options.notify?.(row.id);
      }
      return free.length + held.length;
    });
  }

  terminate(runnerIds: readonly string[], reason: string): Promise<number> {
    return answered(() => {
      const rows = this.#liveRows(runnerIds);
      this.#moves.end(rows, reason);
      return rows.length;
    });
  }

  sweep(
    limit: number,
    keep: readonly { resource_class: string; usage_class: string; count: number }[],
  ): Promise<SweepResult> {
    return answered(() => this.#upkeep.sweep(limit, keep));
  }

  countEnded(limit: number): Promise<Readonly<Record<string, number>>> {
    return answered(() => this.#upkeep.countEnded(limit));
  }

  leaving(provider: string, limit: number): Promise<{ id: string; provider_id: string }[]> {
    return answered(() => {
      const leaving = [...this.#tables.runners.values()].filter(
        (row) =>
          row.state === 'terminated' && row.provider === provider && row.provider_id !== null && row.gone_at === null,
      );
      return leaving.slice(0, limit).map(({ id, provider_id }) => ({ id, provider_id: provider_id! }));
    });
  }

  gone(runnerIds: readonly string[]): Promise<void> {
    return answered(() => {
      for (const id of runnerIds) {
        const row = this.#tables.runners.get(id);
        if (row?.state === 'terminated') row.gone_at ??= this.#tables.now;
      }
    });
  }

  reconcile(provider: string, listed: readonly ProviderInstance[]): Promise<{ orphans: string[]; vanished: number }> {
    return answered(() => this.#upkeep.reconcile(provider, listed));
  }

  census(): Promise<ClassCensus[]> {
    return answered(() => censusOf(this.#tables));
  }

  list(filter: RunnerFilter, { offset, limit }: { offset: number; limit: number }): Promise<Runner[]> {
    return answered(() => {
      const { runners, live } = this.#tables;
      const { ids, state, resource_class: name } = filter;
      const some = ids === undefined ? (filter.ended === false ? live : runners.values()) : this.#runnersOf(ids);
      const matches = (row: RunnerRow): boolean =>
        (state === undefined || row.state === state) &&
        (filter.ended !== false || row.state !== 'terminated') &&
        (name === undefined || row.shape.requirements.resource_class === name);
      const rows = [...some].filter(matches).sort((one, other) => byNumber(other, one));
      return rows.slice(offset, offset + limit).map(runnerOf);
    });
  }

  forget(before: number, limit: number): Promise<number> {
    return answered(() => this.#upkeep.forget(before, limit));
  }

  /** Returns the runner by ID, or of its batch the one with this instance, or one without an instance. */
  #registered({ runner_id, batch_id, provider_id }: Registration): RunnerRow | undefined {
    if (runner_id !== null) return this.#tables.runners.get(runner_id);
    const batch = batch_id === null ? undefined : this.#tables.batches.get(batch_id);
    if (batch === undefined) return undefined;
    const rows = [...batch.runners].sort(byNumber);
    const own = rows.find((row) => row.provider_id === provider_id);
    return own ?? rows.find((row) => row.state === 'created' && row.provider_id === null);
  }

  #liveRow(id: string): RunnerRow | undefined {
    const row = this.#tables.runners.get(id);
    return row?.state === 'terminated' ? undefined : row;
  }

  #liveRows(ids: readonly string[]): RunnerRow[] {
    return this.#runnersOf(ids).filter(({ state }) => state !== 'terminated');
  }

  #runnersOf(ids: readonly string[]): RunnerRow[] {
    return [...new Set(ids)].flatMap((id) => this.#tables.runners.get(id) ?? []);
  }

  #requestsOf(ids: readonly string[]): RequestRow[] {
    return [...new Set(ids)].flatMap((id) => this.#tables.requests.get(id) ?? []);
  }
}

/** Turns exceptions into rejections, as a remote store would. */
function answered<T>(run: () => T): Promise<T> {
  return new Promise((resolve) => resolve(run()));
}
