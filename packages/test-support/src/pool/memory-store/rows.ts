import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { Runner, RunnerType } from '@heddle/core/domain/runner/runner';
import type { RequestState, RunnerState } from '@heddle/core/domain/runner/state';
import type { Exhaustion, NewRequest } from '@heddle/core/pool/port/store';
import type { SortedList } from './sorted-list.ts';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Requests with the same requirements. */
export interface ShapeRow {
  readonly id: number;
  readonly requirements: Requirements;
  readonly types: Set<TypeRow>;
  /** Waiting requests that lack one runner (singles) or several (gangs), in queue order. */
  readonly singles: SortedList<RequestRow>;
  readonly gangs: SortedList<RequestRow>;
  /** Number of created runners that were planned for the shape. */
  coming: number;
}

/** Runners of the same type. */
export interface TypeRow extends RunnerType {
  readonly shapes: Set<ShapeRow>;
  /** The runner that became idle last comes last. */
  readonly idle: SortedList<RunnerRow>;
}

export interface RunnerRow extends Mutable<Omit<Runner, keyof RunnerType | 'request_id'>> {
  /** Null before it is launched. */
  type: TypeRow | null;
  readonly shape: ShapeRow;
  batch: BatchRow | null;
  request: RequestRow | null;
  confirm_by: number | null;
  offered_at: number | null;
  /** Time of the first check that found it silent or missing at its provider. */
  suspected_at: number | null;
  gone_at: number | null;
  /** Whether its end was counted. */
  counted: boolean;
}

export interface RequestRow extends Mutable<NewRequest> {
  readonly shape: ShapeRow;
  rank: number;
  state: RequestState;
  readonly created_at: number;
  granted_at: number | null;
  ended_at: number | null;
  exhaustion: Exhaustion | null;
  reason: string | null;
  /** Runners claimed or running for the request; while it waits, those that it keeps. */
  readonly runners: Set<RunnerRow>;
  /** The queue that it waits in. */
  queue: SortedList<RequestRow> | null;
  /** Wait for capacity: no request may overtake it once `grants` reaches `from`, until `until`. */
  capacityWait: { readonly from: number; until: number | null } | null;
}

export interface BatchRow {
  readonly id: string;
  readonly provider: string;
  readonly shape: ShapeRow;
  readonly cpu: number;
  readonly memory_mib: number;
  readonly planned_at: number;
  readonly runners: Set<RunnerRow>;
  /** Null: the launch has ended. */
  next_try_at: number | null;
  tries: number;
}

export function byTurn(one: RequestRow, other: RequestRow): number {
  return one.rank - other.rank || compareText(one.id, other.id);
}

/** The runner that became idle last comes last; ties are ordered by descending ID. */
export function byIdleTime(one: RunnerRow, other: RunnerRow): number {
  return one.state_since - other.state_since || compareText(other.id, one.id);
}

/** Returns how many runners a waiting request still needs. */
export function lackOf({ count, runners }: RequestRow): number {
  return count - runners.size;
}

export function byNumber(one: RunnerRow, other: RunnerRow): number {
  return one.number - other.number;
}

export function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

export function isHeld(state: RunnerState): boolean {
  return state === 'claimed' || state === 'running';
}

export function runnerOf(row: RunnerRow): Runner {
  const { requirements } = row.shape;
  // A runner that has not been launched has the properties that it was planned with.
  const { resource_class, usage_class, instance_type, cpu, memory_mib } = row.type ?? {
    ...requirements,
    ...{ instance_type: '', cpu: row.batch?.cpu, memory_mib: row.batch?.memory_mib },
  };
  const { id, number, provider, provider_id, state, epoch, uses, threshold, created_at, state_since, seen_at } = row;
  return {
    ...{ id, number, provider, provider_id, state, epoch, uses, threshold, created_at, state_since, seen_at },
    ...{ resource_class, usage_class, instance_type, cpu: cpu ?? 0, memory_mib: memory_mib ?? 0 },
    ...{ address: row.address, draining: row.draining, reason: row.reason, request_id: row.request?.id ?? null },
  };
}
