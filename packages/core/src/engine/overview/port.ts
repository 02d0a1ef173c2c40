import type { JsonObject } from '@heddle/base/json';
import type { TaskState } from '@heddle/base/vocabulary/task-state';

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

/** A process that runs tasks, or a client of the pull API. */
export interface ListedWorker {
  /** Name in its claims, with that of its token. */
  id: string;
  name: string;
  type: 'server' | 'worker' | 'queue_worker' | 'runner' | 'pull';
  version: string | null;
  host: string | null;
  kinds: string[];
  concurrency: number | null;
  running: number;
  started_at: number | null;
  last_seen_at: number;
  /** `stale`: not seen for 30 s; `lost`: not for a minute, although it did not stop in order. */
  state: 'live' | 'stale' | 'lost';
  /** The first 20 running tasks. */
  tasks: { id: string; name: string; kind: string; claimed_at: number }[];
}

/** Ready tasks of a kind, or messages of a queue. */
export interface ListedQueue {
  name: string;
  type: 'kind' | 'messages';
  ready: CappedCount;
  in_flight: number;
  delayed: number;
  dead: number;
  oldest_at: number | null;
  workers: number;
}

/** A slot of a rule: a rule applied to one set of values. */
export interface ListedSlot {
  /** 16 hexadecimal digits. */
  id: string;
  rule: 'Concurrency' | 'Capacity';
  kind: string;
  fields: JsonObject;
  max: number;
  used: number;
  full: boolean;
  waiting: CappedCount;
  waiting_since: number | null;
  /** The first 20. */
  holders: { id: string; name: string; state: TaskState; claimed_at: number | null }[];
  /** The first 20. */
  waiters: { id: string; name: string }[];
}

export interface SlotPage {
  slots: ListedSlot[];
  next: string | null;
}

/** What an operator sees of the whole system. */
export interface Overview {
  /** At most two seconds old; concurrent callers share it. */
  home(): Promise<Home>;
  workers(): Promise<ListedWorker[]>;
  queues(): Promise<ListedQueue[]>;
  /** A page of the slots in use, the fullest first. */
  slots(after: string | null, limit: number): Promise<SlotPage>;
  /** Null if no task holds it or waits for it. */
  slot(id: string): Promise<ListedSlot | null>;
  /** Failed tasks of a fingerprint, newest first. */
  failures(fingerprint: string, after: string | null, limit: number): Promise<FailedTasks>;
}
