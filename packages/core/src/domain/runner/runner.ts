import type { UsageClass } from '@heddle/base/vocabulary/resource-class';
import type { RunnerState } from './state.ts';

/** Properties of a runner that requirements are compared with. */
export interface RunnerType {
  readonly resource_class: string;
  readonly usage_class: UsageClass;
  /** `m7i.large`, or `local.large` for a process on this machine. */
  readonly instance_type: string;
  readonly cpu: number;
  readonly memory_mib: number;
}

/** An idle runner, as represented in the queue of a pool. */
export interface RunnerMessage extends RunnerType {
  /** ID of the runner, or of its instance (`i-…`) in messages of other producers. */
  readonly id: string;
  /** The message uses the envelope `{instance_id, payload}`, which is kept when it is sent again. */
  readonly enveloped?: true;
  /** When the runner expires, milliseconds since the epoch. */
  readonly threshold: number;
}

export interface Runner extends RunnerType {
  readonly id: string;
  /** Short number, unique in this database, that identifies its lane. */
  readonly number: number;
  readonly provider: string;
  /** ID of its instance at the provider; null before it is launched. */
  readonly provider_id: string | null;
  readonly state: RunnerState;
  /** Incremented by every claim; signals with an older epoch are refused. */
  readonly epoch: number;
  /** Request that it was claimed for; null if it is free. */
  readonly request_id: string | null;
  /** Number of confirmed claims. */
  readonly uses: number;
  /** When its current state ends, milliseconds since the epoch. */
  readonly threshold: number;
  readonly created_at: number;
  readonly state_since: number;
  /** Time of the last heartbeat; null before the first. */
  readonly seen_at: number | null;
  readonly address: string | null;
  /** Accepts no more claims and ends when it is released: drained, or interrupted by its provider. */
  readonly draining: boolean;
  /** Why it ended or is going to end. */
  readonly reason: string | null;
}
