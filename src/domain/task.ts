import type { CompletionPolicy } from './completion-policy.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { Demand } from './runner/requirements.ts';
import type { TaskId, WorkflowId } from './ids.ts';
import type { ContainerState, TaskState } from './task-state.ts';

/** What a webhook call is made of. */
export interface WebhookParams {
  url: string;
  verb: 'Get' | 'Post' | 'Put' | 'Patch' | 'Delete';
  body?: JsonValue;
  headers?: Record<string, string>;
}

export type ActionTrigger = 'start' | 'success' | 'failure' | 'cancel';

/** An action: a webhook that a trigger fires. */
export interface Action {
  trigger: ActionTrigger;
  params: WebhookParams;
  /** Tries of one delivery before it is dead-lettered; the server's default where absent. */
  max_tries?: number;
  /** Longest time from the first try to giving up, seconds; the server's default where absent. */
  give_up_secs?: number;
}

/** Counts tasks of `kind` that run (claimed ones included) and whose metadata equals the asking task's in `fields`. */
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

/** How a failed task is tried again. Delays are milliseconds; the n-th retry waits `min(base * factor^(n-1), max)`. */
export interface RetryPolicy {
  /** Attempts in all, the first included. */
  max_attempts: number;
  base_ms: number;
  factor: number;
  max_ms: number;
  /** 0: none; 1: each wait is drawn from zero up to the whole. */
  jitter: number;
}

/** What the timeout of a task counts from: the start of its attempt, or the last sign of activity. */
export const DEADLINE_BASES = ['start', 'activity'] as const;
export type DeadlineBasis = (typeof DEADLINE_BASES)[number];
export const DEADLINE_BASIS_DEFAULT: DeadlineBasis = 'activity';

/** A dependency of a new task: on a task of the same submission by index, or on a stored one by id. */
export type NewDependency =
  { index: number; requires_success: boolean } | { task_id: TaskId; requires_success: boolean };

/** A validated task on its way into the store. */
export interface NewTask {
  id: TaskId;
  /** The submitter's own name for it within the request. */
  local_id: string | null;
  name: string;
  kind: string;
  timeout_secs: number;
  deadline_basis: DeadlineBasis;
  priority: number;
  /** Milliseconds after the submission before which it does not start. */
  delay_ms: number;
  metadata: JsonObject;
  expected_count: number | null;
  actions: readonly Action[];
  rules: readonly Rule[];
  dedupe: readonly DedupeMatcher[];
  retry: RetryPolicy | null;
  /** Of a task of a batch: which of its ends let tasks start that require its success. `FailOnFailure` where absent. */
  policy?: CompletionPolicy;
  /** It runs on runners of its own, which it waits for; absent: wherever its kind runs. */
  requirements?: Demand;
  dependencies: readonly NewDependency[];
}

/** A task as the store returns it. Times are milliseconds since the epoch. */
export interface Task {
  id: TaskId;
  workflow_id: WorkflowId;
  local_id: string | null;
  name: string;
  kind: string;
  state: TaskState;
  attempt: number;
  priority: number;
  timeout_secs: number;
  deadline_basis: DeadlineBasis;
  metadata: JsonObject;
  expected_count: number | null;
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
  /** Absent where it runs wherever its kind does. */
  requirements?: Demand;
}

export interface Dependency {
  parent_id: TaskId;
  child_id: TaskId;
  requires_success: boolean;
}

/** A workflow with its progress: how many of its tasks stand in each state. */
export interface WorkflowSummary {
  id: WorkflowId;
  name: string | null;
  task_count: number;
  remaining: number;
  created_at: number;
  ended_at: number | null;
  archived: boolean;
  /** What its root container came to; null for a batch. */
  root_state: ContainerState | null;
  /** Nothing of it starts until it is resumed. */
  paused: boolean;
}
