import type { UsageClass } from './resource-class.ts';
import type { RunnerState } from './state.ts';

/** What runners that are alike have in common: what requirements are held against. */
export interface RunnerType {
  readonly resource_class: string;
  readonly usage_class: UsageClass;
  /** `m7i.large`, or `local.large` for a process of this machine. */
  readonly instance_type: string;
  readonly cpu: number;
  readonly memory_mib: number;
}

/** An idle runner as a pool's queue holds it. */
export interface RunnerMessage extends RunnerType {
  /** Of the runner; of its instance (`i-…`) where others have written it so. */
  readonly id: string;
  /** It came as `{instance_id, payload}`, and goes back so. */
  readonly enveloped?: true;
  /** Milliseconds since the epoch; after it the runner is of no use to anybody. */
  readonly threshold: number;
}

export interface Runner extends RunnerType {
  readonly id: string;
  /** Short and unique in this database; names its lane. */
  readonly number: number;
  readonly provider: string;
  /** What the provider calls it; null before it is launched. */
  readonly provider_id: string | null;
  readonly state: RunnerState;
  /** Raised by every claim; signals of an older one are refused. */
  readonly epoch: number;
  /** What it was claimed for; null while nobody has it. */
  readonly request_id: string | null;
  /** Claims that were confirmed so far. */
  readonly uses: number;
  /** Milliseconds since the epoch: when it ends or is given up, in the state that it is in. */
  readonly threshold: number;
  readonly created_at: number;
  readonly state_since: number;
  /** Its last sign of life; null before the first. */
  readonly seen_at: number | null;
  readonly address: string | null;
  /** It takes nothing more and ends when it is released: drained, or about to be taken away by its provider. */
  readonly draining: boolean;
  /** Why it ended, or is about to. */
  readonly reason: string | null;
}
