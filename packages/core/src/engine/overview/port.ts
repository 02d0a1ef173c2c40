import type { JsonObject } from '@heddle/base/json';

/** Number, capped: with `n_capped` there are more. */
export interface CappedCount {
  n: number;
  n_capped: boolean;
}

/** A task by which a group is shown. */
export interface SampleTask {
  task_id: string;
  name: string;
}

/** Times are milliseconds since the epoch. */
export interface Home {
  at: number;
  now: Record<'running' | 'ready' | 'waiting' | 'delayed' | 'paused' | 'failed_last_day', CappedCount>;
  open_runs: CappedCount;
  /** The last 60 minutes, oldest first. */
  last_hour: Minute[];
  failing: FailingGroup[];
  waiting: WaitingGroup[];
  attention: Attention[];
}

export interface Minute {
  minute: number;
  started: number;
  succeeded: number;
  failed: number;
  canceled: number;
  wait_p50_ms: number | null;
  wait_p95_ms: number | null;
}

/** Tasks of a kind that failed alike within a day. */
export interface FailingGroup {
  /** 16 hexadecimal digits. */
  fingerprint: string;
  kind: string;
  /** Reason of the latest one. */
  reason: string;
  /** Reason without its variable parts. */
  pattern: string;
  tasks: number;
  tasks_capped: boolean;
  runs: number;
  first_at: number;
  last_at: number;
  sample: SampleTask & { run_id: string; run_name: string | null };
}

export interface WaitingGroup {
  type: 'no_worker' | 'queued' | 'rule' | 'runner' | 'paused' | 'delayed';
  text: string;
  tasks: number;
  tasks_capped: boolean;
  since: number | null;
  kind: string | null;
  slot_id: string | null;
  sample: SampleTask | null;
}

export type AttentionType =
  | 'no_worker'
  | 'dead_letters'
  | 'lost_worker'
  | 'full_rule'
  | 'job_failed'
  | 'job_missed'
  | 'webhook_dead'
  | 'webhook_failing'
  | 'runner_launch_failed'
  | 'executor_unreachable';

export interface Attention {
  type: AttentionType;
  severity: 'error' | 'warning';
  /** What is wrong, in one sentence. */
  title: string;
  /** What to do, in one sentence. */
  remedy: string;
  since: number | null;
  count: number;
  count_capped: boolean;
  kind?: string;
  queue?: string;
  worker?: string;
  slot_id?: string;
  job_id?: string;
  run_id?: string;
  task_id?: string;
  origin?: string;
  executor?: string;
  resource_class?: string;
}

export interface FailedTask {
  task_id: string;
  name: string;
  kind: string;
  reason: string;
  run_id: string;
  run_name: string | null;
  ended_at: number;
}

export interface FailedTasks {
  tasks: FailedTask[];
  /** Cursor of the next page; null on the last one. */
  next: string | null;
}

/** An executor that does not respond. */
export interface UnreachableExecutor {
  executor: string;
  endpoint: string;
  since: number | null;
  message: string | null;
}

/** What an operator sees of the whole system. */
export interface Overview {
  /** At most two seconds old; concurrent callers share it. */
  home(): Promise<Home>;
  /** Failed tasks of a fingerprint, newest first. */
  failures(fingerprint: string, after: string | null, limit: number): Promise<FailedTasks>;
}

/** The values of a slot's fields, as JSON. */
export type SlotFields = JsonObject;
