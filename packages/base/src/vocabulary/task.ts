import type { CompletionPolicy } from './completion-policy.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Demand } from './requirements.ts';
import type { TaskId, WorkflowId } from '../ids.ts';
import type { SecretReference } from './secret-reference.ts';
import type { TaskSettings } from './task-fields.ts';
import type { ContainerState, TaskState } from './task-state.ts';

/** Headers by name, as text or as the name of a secret. */
export type WebhookHeaders = Record<string, string | SecretReference>;

/** Parameters of a webhook call. */
export interface WebhookParams {
  url: string;
  verb: 'Get' | 'Post' | 'Put' | 'Patch' | 'Delete';
  body?: JsonValue;
  headers?: WebhookHeaders;
}

export type ActionTrigger = 'start' | 'success' | 'failure' | 'cancel';

/** Webhook that a trigger fires. */
export interface Action {
  trigger: ActionTrigger;
  params: WebhookParams;
  /** Maximum tries of one delivery before it is dead-lettered; the server's default if absent. */
  max_tries?: number;
  /** Maximum time from the first try to the last, seconds; the server's default if absent. */
  abandon_after_secs?: number;
}

/** Counts open attempts of `kind` (claimed ones included) whose metadata equals the asking task's in `fields`. */
export interface Matcher {
  kind: string;
  fields: readonly string[];
}

export type Rule =
  { type: 'concurrency'; matcher: Matcher; max: number } | { type: 'capacity'; matcher: Matcher; max: number };

/** Skips a new task while one of `kind` in one of `states` has equal metadata in `fields`. */
export interface DedupeMatcher {
  kind: string;
  states: readonly TaskState[];
  fields: readonly string[];
}

/** Retry policy. Delays are milliseconds; the n-th retry waits `min(base * factor^(n-1), max)`. */
export interface RetryPolicy {
  /** Maximum number of attempts, the first included. */
  max_attempts: number;
  base_ms: number;
  factor: number;
  max_ms: number;
  /** 0: none; 1: each wait is drawn from zero up to the full length. */
  jitter: number;
}

/** Dependency of a new task: on a task of the same submission by index, or on a stored one by id. */
export type NewDependency =
  { index: number; requires_success: boolean } | { task_id: TaskId; requires_success: boolean };

/** Validated task to store. */
export interface NewTask extends TaskSettings {
  id: TaskId;
  /** Submitter's own name for it within the request. */
  local_id: string | null;
  name: string;
  kind: string;
  /** Delay after the submission before it may start, milliseconds. */
  delay_ms: number;
  metadata: JsonObject;
  actions: readonly Action[];
  rules: readonly Rule[];
  dedupe: readonly DedupeMatcher[];
  retry: RetryPolicy | null;
  /** For a task of a batch: which of its ends let tasks start that require its success. `FailOnFailure` if absent. */
  policy?: CompletionPolicy;
  /** Runners that it requires and waits for; absent: it runs wherever its kind runs. */
  requirements?: Demand;
  dependencies: readonly NewDependency[];
}

/** Task as the store returns it. Times are milliseconds since the epoch. */
export interface Task extends TaskSettings {
  id: TaskId;
  workflow_id: WorkflowId;
  local_id: string | null;
  name: string;
  kind: string;
  state: TaskState;
  attempt: number;
  metadata: JsonObject;
  success_count: number;
  failure_count: number;
  open_gates: number;
  failure_reason: string | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  updated_at: number;
  run_at: number | null;
  deadline_at: number | null;
  archived: boolean;
}

export interface TaskDetail extends Task {
  actions: readonly Action[];
  rules: readonly Rule[];
  dedupe: readonly DedupeMatcher[];
  retry: RetryPolicy | null;
  /** Absent if it runs wherever its kind does. */
  requirements?: Demand;
}

export interface Dependency {
  parent_id: TaskId;
  child_id: TaskId;
  requires_success: boolean;
}

/** Workflow with its progress: number of tasks by state. */
export interface WorkflowSummary {
  id: WorkflowId;
  name: string | null;
  task_count: number;
  remaining: number;
  created_at: number;
  ended_at: number | null;
  archived: boolean;
  /** State of its root container; null for a batch. */
  root_state: ContainerState | null;
  /** Paused: no task starts until it is resumed. */
  paused: boolean;
}
