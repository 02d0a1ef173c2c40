import { isUuid } from '@heddle/base/ids';
import { endKindOf } from '../../domain/runner/end-reasons.ts';
import type { Requirements } from '@heddle/base/vocabulary/requirements';
import { USAGE_CLASS_CODES, type UsageClass } from '@heddle/base/vocabulary/resource-class';
import type { Runner, RunnerMessage, RunnerType } from '../../domain/runner/runner.ts';
import { RUNNER_STATE_CODES } from '../../domain/runner/state.ts';
import type { Database, Queryable } from '../../store/database.ts';
import {
  classOfBatch,
  findBatches,
  freeCapacity,
  recordLaunch,
  recordLaunchFailure,
  planLaunches,
  readShortages,
  takeBatches,
  takeUnoffered,
} from '../../store/runners/launches.ts';
import type { StatementContext } from '../../store/runners/moment.ts';
import { listRunners, readCensus, readSamples, readTypes } from '../../store/runners/reads.ts';
import {
  countEnded,
  deleteUnusedShapesAndTypes,
  forgetRunners,
  recordGone,
  readLeaving,
  reconcileListing,
  sweepRunners,
  takeSample,
} from '../../store/runners/upkeep.ts';
import { INSTANCE_CODE } from '../../store/sql-names.ts';
import type { PoolHistory, PoolSample } from '../port/history.ts';
import type { LaunchBatch, LaunchedRunner, ProviderInstance } from '../port/provider.ts';
import type {
  ClassCensus,
  LaunchRate,
  NewBatch,
  CapacityShortage,
  RunnerFilter,
  RunnerStore,
  Shortage,
  SweepResult,
} from '../port/store.ts';
import type { KnownType, KnownTypes } from '../port/types.ts';
import { runnerOfRow, usageOf } from './runner-of-row.ts';

/** Returns the IDs of shapes and types, adding new ones together with their fits. */
export interface ShapesAndTypes {
  /** Returns one ID per item, in order. */
  shapeIds(tx: Queryable, requirements: readonly Requirements[]): Promise<number[]>;
  /** Returns one ID per item, in order. */
  typeIds(tx: Queryable, types: readonly RunnerType[]): Promise<number[]>;
}

export interface LaunchStoreOptions {
  readonly database: Database;
  readonly shapesAndTypes: ShapesAndTypes;
  /** Time and policy for statements. */
  readonly context: () => StatementContext;
  /** Number of unused tenants, shapes and types that are kept. */
  readonly unusedKept?: number;
}

/** Store operations for launches, maintenance and status. */
export type LaunchStore = Pick<
  RunnerStore,
  | 'unoffered'
  | 'shortages'
  | 'plan'
  | 'freeCapacity'
  | 'knownBatches'
  | 'takeBatches'
  | 'launched'
  | 'launchFailed'
  | 'sweep'
  | 'countEnded'
  | 'leaving'
  | 'gone'
  | 'reconcile'
  | 'census'
  | 'list'
  | 'forget'
>;

/** Maximum number of runners that one listing ends; the next listing ends the rest. */
const VANISHED_MAX = 1_000;
/** Unused rows are deleted only beyond this number. */
const UNUSED_KEPT = 1_000;
/** Maximum number of types that are listed. */
const TYPES_MAX = 10_000;
/** Maximum length of a launch failure reason. */
const REASON_MAX = 2_000;
const INSTANCE_STATES = {
  gone: INSTANCE_CODE.gone,
  stopping: INSTANCE_CODE.stopping,
  pending: INSTANCE_CODE.present,
  running: INSTANCE_CODE.present,
} as const;

export class PostgresLaunches implements LaunchStore, PoolHistory {
  readonly #database: Database;
  readonly #shapesAndTypes: ShapesAndTypes;
  readonly #context: () => StatementContext;
  readonly #unusedKept: number;

  constructor({ database, shapesAndTypes, context, unusedKept = UNUSED_KEPT }: LaunchStoreOptions) {
    this.#unusedKept = unusedKept;
    this.#database = database;
    this.#shapesAndTypes = shapesAndTypes;
    this.#context = context;
  }

  async unoffered(limit: number, before: number): Promise<RunnerMessage[]> {
    const rows = await takeUnoffered(this.#database, limit, iso(before), this.#context().now);
    return rows.map((row) => ({ ...row, usage_class: usageOf(row.usage_class) }));
  }

  async shortages(): Promise<Shortage[]> {
    return readShortages(this.#database, this.#context());
  }

  async plan(batches: readonly NewBatch[], maxRunners: number | null = null): Promise<void> {
    if (batches.length === 0) return;
    await this.#database.transaction(async (tx) => {
      const shapeIds = await this.#shapesAndTypes.shapeIds(
        tx,
        batches.map(({ requirements }) => requirements),
      );
      const rows = batches.map(({ id, provider, cpu, memory_mib, runner_ids, coming = null }, index) => {
        return { id, provider, shape_id: shapeIds[index]!, cpu, memory_mib, coming, runner_ids };
      });
      await planLaunches(tx, rows, maxRunners, this.#context());
    });
  }

  freeCapacity(wanted: CapacityShortage): Promise<number> {
    return freeCapacity(this.#database, wanted, this.#context());
  }

  knownBatches(ids: readonly string[]): Promise<string[]> {
    return findBatches(this.#database, ids);
  }

  async takeBatches(provider: string, limit: number, leaseMs: number, rate: LaunchRate): Promise<LaunchBatch[]> {
    return takeBatches(this.#database, provider, limit, leaseMs, rate, this.#context().now);
  }

  async launched(batchId: string, runners: readonly LaunchedRunner[], missing: string | null): Promise<void> {
    await this.#database.transaction(async (tx) => {
      const batch = await classOfBatch(tx, batchId);
      if (batch === null) return;
      const usageClass = usageOf(batch.usage_class);
      const types = runners.map(({ instance_type, cpu, memory_mib }) => {
        return { resource_class: batch.resource_class, usage_class: usageClass, instance_type, cpu, memory_mib };
      });
      const typeIds = types.length === 0 ? [] : await this.#shapesAndTypes.typeIds(tx, types);
      const rows = runners.map(({ runner_id, provider_id }, index) => {
        return { runner_id, provider_id, type_id: typeIds[index]! };
      });
      await recordLaunch(tx, batchId, rows, missing?.slice(0, REASON_MAX) ?? null, this.#context());
    });
  }

  async launchFailed(batchId: string, reason: string, retryAt: number | null): Promise<void> {
    const retry = retryAt === null ? null : iso(retryAt);
    await recordLaunchFailure(this.#database, batchId, reason.slice(0, REASON_MAX), retry, this.#context());
  }

  sweep(
    limit: number,
    keep: readonly { resource_class: string; usage_class: string; count: number }[],
  ): Promise<SweepResult> {
    const kept = keep.map(({ resource_class, usage_class, count }) => {
      return { resource_class, usage_class: USAGE_CLASS_CODES[usage_class as UsageClass], count };
    });
    return sweepRunners(this.#database, limit, kept, this.#context());
  }

  async countEnded(limit: number): Promise<Readonly<Record<string, number>>> {
    const ended: Record<string, number> = {};
    for (const { reason, had_instance, count } of await countEnded(this.#database, limit)) {
      const kind = endKindOf(reason, had_instance);
      ended[kind] = (ended[kind] ?? 0) + count;
    }
    return ended;
  }

  leaving(provider: string, limit: number): Promise<{ id: string; provider_id: string }[]> {
    return readLeaving(this.#database, provider, limit);
  }

  async gone(runnerIds: readonly string[]): Promise<void> {
    if (runnerIds.length > 0) await recordGone(this.#database, runnerIds, this.#context().now);
  }

  reconcile(provider: string, listed: readonly ProviderInstance[]): Promise<{ orphans: string[]; vanished: number }> {
    const rows = listed.map(({ provider_id, runner_id, batch_id, state }) => {
      return { provider_id, runner_id: tagOf(runner_id), batch_id: tagOf(batch_id), state: INSTANCE_STATES[state] };
    });
    return reconcileListing(this.#database, provider, rows, VANISHED_MAX, this.#context());
  }

  async census(): Promise<ClassCensus[]> {
    const rows = await readCensus(this.#database);
    return rows.map((row) => ({ ...row, usage_class: usageOf(row.usage_class) }));
  }

  async list(filter: RunnerFilter, page: { offset: number; limit: number }): Promise<Runner[]> {
    const { state, resource_class = null, ids = null, ended } = filter;
    const stateCode = state === undefined ? null : RUNNER_STATE_CODES[state];
    const rows = await listRunners(
      this.#database,
      { state: stateCode, resource_class, ended: ended !== false, ids },
      page,
    );
    return rows.map(runnerOfRow);
  }

  async forget(before: number, limit: number): Promise<number> {
    const forgotten = await forgetRunners(this.#database, iso(before), limit);
    return forgotten + (await deleteUnusedShapesAndTypes(this.#database, this.#unusedKept, limit));
  }

  async sample(): Promise<void> {
    await takeSample(this.#database, this.#context().now);
  }

  async samples(from: number, limit: number): Promise<PoolSample[]> {
    const rows = await readSamples(this.#database, iso(from), limit);
    return rows.map((row) => ({ ...row, usage_class: usageOf(row.usage_class) }));
  }
}

/** Lists instance types for backends that have a queue per type. */
export class PostgresTypes implements KnownTypes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async list(): Promise<readonly KnownType[]> {
    const rows = await readTypes(this.#database, TYPES_MAX);
    return rows.map((row) => ({ ...row, usage_class: usageOf(row.usage_class) }));
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Ignores tags that are not IDs, since anyone who can start instances can set tags. */
function tagOf(tag: string | null): string | null {
  return tag !== null && isUuid(tag) ? tag : null;
}
