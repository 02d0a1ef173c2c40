import { END_REASONS } from '@heddle/core/domain/runner/end-reasons';
import type { LaunchBatch, LaunchedRunner } from '@heddle/core/pool/port/provider';
import type { LaunchRate, NewBatch, CapacityShortage, Shortage } from '@heddle/core/pool/port/store';
import type { MemoryMoves } from './moves.ts';
import { byNumber, byTurn, compareText, lackOf, type BatchRow, type RunnerRow, type ShapeRow } from './rows.ts';
import type { MemoryTables } from './tables.ts';

interface Budget {
  tokens: number;
  refilledAt: number;
}

/** Planned launches and their results. */
export class MemoryLaunches {
  readonly #tables: MemoryTables;
  readonly #moves: MemoryMoves;
  readonly #budgets = new Map<string, Budget>();

  constructor(tables: MemoryTables, moves: MemoryMoves) {
    this.#tables = tables;
    this.#moves = moves;
  }

  shortages(): Shortage[] {
    return [...this.#tables.shapes.values()].flatMap(({ id, requirements, types, singles, gangs, coming }) => {
      const all = [...singles.items, ...gangs.items];
      const waiting = all.filter((request) => this.#moves.isServable(request));
      if (waiting.length === 0) return [];
      const wanted = waiting.reduce((sum, request) => sum + lackOf(request), 0);
      const since = waiting.reduce((earliest, { created_at }) => Math.min(earliest, created_at), Infinity);
      const idle = [...types].reduce((sum, type) => sum + this.#moves.claimable(type), 0);
      return [{ shape_id: id, requirements, wanted, coming, idle, since }];
    });
  }

  plan(batches: readonly NewBatch[], maxRunners: number): void {
    const { live } = this.#tables;
    let capacity = maxRunners - live.size;
    // All batches of a set are compared with the count before the set.
    const wanted = batches.filter(({ id, requirements, coming }) => {
      const isKnown = this.#tables.batches.has(id);
      return !isKnown && (coming === undefined || coming === this.#tables.shapeOf(requirements).coming);
    });
    for (const batch of wanted) {
      if (capacity > 0 && batch.runner_ids.length > 0) this.#write(batch, batch.runner_ids.slice(0, capacity));
      capacity -= batch.runner_ids.length;
    }
  }

  freeCapacity({ request_id, missing, coming, max_runners, overtakes, lease_ms }: CapacityShortage): number {
    const { live, requests, waiting, grants, now } = this.#tables;
    const request = requests.get(request_id);
    if (request?.state !== 'waiting' || request.shape.coming !== coming) return 0;
    const needed = missing - (max_runners - live.size);
    if (needed <= 0) return 0;
    const before = waiting.items.slice(0, waiting.items.indexOf(request) + 1);
    const wanted = new Set(before.flatMap(({ shape }) => [...shape.types]));
    const idle = [...live].filter(({ state, type }) => state === 'idle' && type !== null && !wanted.has(type));
    if (idle.length < needed) {
      request.capacityWait = { from: request.capacityWait?.from ?? grants + overtakes, until: now + lease_ms };
      return 0;
    }
    const oldest = idle.sort((one, other) => one.state_since - other.state_since || compareText(one.id, other.id));
    this.#moves.end(oldest.slice(0, needed), END_REASONS.evicted);
    return needed;
  }

  take(provider: string, limit: number, leaseMs: number, rate: LaunchRate): LaunchBatch[] {
    const { now } = this.#tables;
    const due = this.#due(provider, now).slice(0, limit);
    const budget = this.#refill(provider, rate, now);
    const taken: LaunchBatch[] = [];
    for (const batch of due) {
      // The first try fixes the runners of a launch, since retries must repeat the same call.
      if (batch.tries === 0) for (const row of batch.runners) if (row.state === 'terminated') leave(batch, row);
      if (![...batch.runners].some(({ state }) => state === 'created')) {
        batch.next_try_at = null;
        continue;
      }
      if (budget.tokens < Math.min(batch.runners.size, rate.burst)) break;
      budget.tokens -= batch.runners.size;
      taken.push(callOf(batch));
      batch.next_try_at = now + leaseMs;
      batch.tries += 1;
    }
    return taken;
  }

  launched(batchId: string, answer: readonly LaunchedRunner[], missing: string | null): void {
    const batch = this.#tables.batches.get(batchId);
    if (batch === undefined) return;
    this.#setReason(batch.shape, missing);
    for (const [row, instance] of this.#pair(batch, answer)) this.#start(row, instance);
    batch.next_try_at = null;
    const left = [...batch.runners].filter(({ state, provider_id }) => state === 'created' && provider_id === null);
    if (left.length > 0) this.#moves.end(left, missing ?? 'its provider did not start it');
    const registered = [...batch.runners].filter(
      ({ state, type, seen_at }) => state === 'created' && type !== null && seen_at !== null,
    );
    this.#moves.arrive(registered);
  }

  launchFailed(batchId: string, reason: string, retryAt: number | null): void {
    const batch = this.#tables.batches.get(batchId);
    if (batch === undefined || batch.next_try_at === null) return;
    batch.next_try_at = retryAt;
    this.#setReason(batch.shape, reason);
    if (retryAt !== null) return;
    const left = [...batch.runners].filter(({ state, provider_id }) => state === 'created' && provider_id === null);
    this.#moves.end(left, reason);
  }

  #write({ id, provider, cpu, memory_mib, requirements }: NewBatch, runnerIds: readonly string[]): void {
    const { batches, now } = this.#tables;
    const batch: BatchRow = {
      ...{ id, provider, cpu, memory_mib, shape: this.#tables.shapeOf(requirements) },
      ...{ planned_at: now, next_try_at: now, tries: 0, runners: new Set<RunnerRow>() },
    };
    batches.set(id, batch);
    for (const runnerId of runnerIds) this.#tables.addRunner(runnerId, batch);
    // Requests that waited for capacity now have it.
    const { singles, gangs } = batch.shape;
    const waited = [...singles.items, ...gangs.items]
      .filter(({ capacityWait }) => (capacityWait?.until ?? null) !== null)
      .sort(byTurn);
    for (const request of waited.slice(0, runnerIds.length)) request.capacityWait!.until = null;
  }

  #due(provider: string, now: number): BatchRow[] {
    const all = [...this.#tables.batches.values()];
    const due = all.filter((batch) => batch.provider === provider && (batch.next_try_at ?? Infinity) <= now);
    return due.sort((one, other) => one.next_try_at! - other.next_try_at! || compareText(one.id, other.id));
  }

  #refill(provider: string, { per_second, burst }: LaunchRate, now: number): Budget {
    const budget = this.#budgets.get(provider) ?? { tokens: burst, refilledAt: now };
    budget.tokens = Math.min(burst, budget.tokens + (per_second * (now - budget.refilledAt)) / 1_000);
    budget.refilledAt = now;
    this.#budgets.set(provider, budget);
    return budget;
  }

  /** Assigns an instance to the runner that already has its ID, or that it was started for, or any of the batch. */
  #pair(batch: BatchRow, answer: readonly LaunchedRunner[]): Map<RunnerRow, LaunchedRunner> {
    const pairs = new Map<RunnerRow, LaunchedRunner>();
    const nameless: LaunchedRunner[] = [];
    for (const instance of answer) {
      const held = this.#tables.runnerAt(batch.provider, instance.provider_id);
      const meant = this.#tables.runners.get(instance.runner_id);
      if (held !== undefined) pairs.set(held, instance);
      else if (meant?.batch === batch && meant.provider_id === null) pairs.set(meant, instance);
      else nameless.push(instance);
    }
    const spare = [...batch.runners].filter((row) => row.provider_id === null && !pairs.has(row));
    spare.sort(
      (one, other) => Number(one.state === 'terminated') - Number(other.state === 'terminated') || byNumber(one, other),
    );
    for (const [at, row] of spare.entries()) if (at < nameless.length) pairs.set(row, nameless[at]!);
    return pairs;
  }

  #start(row: RunnerRow, { provider_id, instance_type, cpu, memory_mib }: LaunchedRunner): void {
    if (row.type !== null) return;
    const { resource_class, usage_class } = row.shape.requirements;
    this.#tables.nameAt(row, provider_id);
    row.type = this.#tables.typeOf({ resource_class, usage_class, instance_type, cpu, memory_mib });
    row.gone_at = null;
    if (row.state === 'created') row.threshold = this.#tables.now + this.#tables.options.times.register_ms;
  }

  #setReason({ singles, gangs }: ShapeRow, reason: string | null): void {
    for (const request of [...singles.items, ...gangs.items]) request.reason = reason;
  }
}

function leave(batch: BatchRow, row: RunnerRow): void {
  batch.runners.delete(row);
  row.batch = null;
}

function callOf(batch: BatchRow): LaunchBatch {
  const { id, shape, cpu, memory_mib, planned_at, tries } = batch;
  const runner_ids = [...batch.runners].sort(byNumber).map((row) => row.id);
  return { id, requirements: shape.requirements, cpu, memory_mib, runner_ids, planned_at, tries };
}
