import { faultOf, mismatchOf } from '@heddle/core/internal/domain/runner/classify';
import { patternsOf, shapeKeyOf, type Requirements } from '@heddle/base/vocabulary/requirements';
import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { RunnerType } from '@heddle/core/domain/runner/runner';
import type { RequestState, RunnerState } from '@heddle/core/domain/runner/state';
import type { NewRequest, PoolTimes } from '@heddle/core/pool/port/store';
import {
  byIdleTime,
  byTurn,
  lackOf,
  type BatchRow,
  type RequestRow,
  type RunnerRow,
  type ShapeRow,
  type TypeRow,
} from './rows.ts';
import { SortedList } from './sorted-list.ts';

/** State of tasks, which this store does not hold. */
export interface TaskStates {
  /** Whether the attempt of this request is running. */
  hasStarted(request: NewRequest): boolean;
  /** Whether the attempt of this request has ended, or will never start. */
  hasEnded(request: NewRequest): boolean;
}

export interface MemoryStoreOptions {
  readonly times: PoolTimes;
  readonly classes: readonly ResourceClass[];
  /** Number of claims after which a runner ends; null: unlimited. */
  readonly max_uses: number | null;
  /** Milliseconds since the epoch. */
  now(): number;
  readonly tasks?: TaskStates;
  /** Called for each granted request. */
  onGrant?(request: RequestRow): void;
  /** Called with each runner whose orders changed, and with null if idle runners may serve waiting requests. */
  notify?(runnerId: string | null): void;
}

/** Lane -1 is used by tasks without a runner. */
const FIRST_NUMBER = 2;

/** Rows and their indexes. All state changes go through this class. */
export class MemoryTables {
  readonly options: MemoryStoreOptions;
  readonly runners = new Map<string, RunnerRow>();
  /** Runners that are not terminated. */
  readonly live = new Set<RunnerRow>();
  readonly requests = new Map<string, RequestRow>();
  readonly batches = new Map<string, BatchRow>();
  readonly shapes = new Map<string, ShapeRow>();
  readonly types = new Map<string, TypeRow>();
  readonly waiting = new SortedList<RequestRow>(byTurn);
  readonly byProviderId = new Map<string, RunnerRow>();
  /** Rank of the last request of each tenant. */
  readonly tenants = new Map<string, number>();
  highestRank = 0;
  /** Number of granted requests so far. */
  grants = 0;
  #numbers = FIRST_NUMBER;

  constructor(options: MemoryStoreOptions) {
    this.options = options;
  }

  get now(): number {
    return this.options.now();
  }

  shapeOf(requirements: Requirements): ShapeRow {
    const key = shapeKeyOf(requirements);
    const known = this.shapes.get(key);
    if (known !== undefined) return known;
    const { resource_class, usage_class, cpu, memory_mib } = requirements;
    const allowed_instance_types = patternsOf(requirements.allowed_instance_types);
    const shape: ShapeRow = {
      id: this.shapes.size + 1,
      requirements: { resource_class, usage_class, allowed_instance_types, cpu, memory_mib },
      types: new Set(),
      singles: new SortedList(byTurn),
      gangs: new SortedList(byTurn),
      coming: 0,
    };
    this.shapes.set(key, shape);
    for (const type of this.types.values()) this.#fit(shape, type);
    return shape;
  }

  typeOf({ resource_class, usage_class, instance_type, cpu, memory_mib }: RunnerType): TypeRow {
    const key = JSON.stringify([resource_class, usage_class, instance_type, cpu, memory_mib]);
    const known = this.types.get(key);
    if (known !== undefined) return known;
    const idle = new SortedList<RunnerRow>(byIdleTime);
    const type: TypeRow = { resource_class, usage_class, instance_type, cpu, memory_mib, shapes: new Set(), idle };
    this.types.set(key, type);
    for (const shape of this.shapes.values()) this.#fit(shape, type);
    return type;
  }

  addRunner(id: string, batch: BatchRow): void {
    const { now, options } = this;
    const row: RunnerRow = {
      ...{
        id,
        number: this.#numbers,
        provider: batch.provider,
        provider_id: null,
        batch,
        shape: batch.shape,
        type: null,
      },
      ...{ state: 'created', epoch: 0, uses: 0, request: null, threshold: now + options.times.created_ms },
      ...{ confirm_by: null, created_at: now, state_since: now, seen_at: null, offered_at: null, suspected_at: null },
      ...{ gone_at: null, counted: false, address: null, draining: false, reason: null },
    };
    this.#numbers += 1;
    this.runners.set(id, row);
    this.live.add(row);
    batch.runners.add(row);
    batch.shape.coming += 1;
  }

  addRequest(asked: NewRequest, rank: number): void {
    const shape = this.shapeOf(asked);
    const row: RequestRow = {
      ...{ ...asked, allowed_instance_types: shape.requirements.allowed_instance_types, shape, rank, state: 'waiting' },
      ...{ created_at: this.now, granted_at: null, ended_at: null, exhaustion: null, reason: null, runners: new Set() },
      ...{ queue: null, capacityWait: null },
    };
    this.requests.set(row.id, row);
    this.#index(row);
  }

  /** Sets the instance ID of a runner, which is unique. */
  nameAt(row: RunnerRow, providerId: string): void {
    row.provider_id = providerId;
    this.byProviderId.set(providerKey(row.provider, providerId), row);
  }

  runnerAt(provider: string, providerId: string): RunnerRow | undefined {
    return this.byProviderId.get(providerKey(provider, providerId));
  }

  /** Moves a runner to a state, possibly the same, and assigns it to `request`. */
  move(row: RunnerRow, state: RunnerState, request: RequestRow | null): void {
    if (row.state === 'idle') row.type?.idle.delete(row);
    if (row.state === 'created' && state !== 'created') row.shape.coming -= 1;
    row.request?.runners.delete(row);
    row.state = state;
    row.state_since = this.now;
    row.request = request;
    row.confirm_by = null;
    row.offered_at = null;
    if (state === 'idle' || state === 'claimed') row.suspected_at = null;
    request?.runners.add(row);
    if (state === 'idle') row.type?.idle.add(row);
    if (state === 'terminated') this.live.delete(row);
    this.options.notify?.(row.id);
  }

  /** Moves a request to a state. */
  settle(row: RequestRow, state: RequestState, reason: string | null): void {
    this.waiting.delete(row);
    row.queue?.delete(row);
    row.queue = null;
    row.state = state;
    row.reason = reason;
    row.granted_at = state === 'waiting' ? null : state === 'granted' ? this.now : row.granted_at;
    row.ended_at = state === 'ended' ? this.now : null;
    if (state !== 'ended') row.exhaustion = null;
    if (state === 'waiting') this.#index(row);
  }

  #index(row: RequestRow): void {
    this.waiting.add(row);
    row.queue = lackOf(row) === 1 ? row.shape.singles : row.shape.gangs;
    row.queue.add(row);
    this.options.notify?.(null);
  }

  #fit(shape: ShapeRow, type: TypeRow): void {
    const resourceClass = this.options.classes.find(({ name }) => name === type.resource_class);
    if (faultOf(type, resourceClass) !== null || mismatchOf(type, shape.requirements) !== null) return;
    shape.types.add(type);
    type.shapes.add(shape);
  }
}

function providerKey(provider: string, providerId: string): string {
  return `${provider} ${providerId}`;
}
