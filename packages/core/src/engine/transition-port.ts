import type { TaskId, WorkflowId } from '@heddle/base/ids';
import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { SlabLog } from '@heddle/base/log-slab';
import type { Outcome, TaskState } from '@heddle/base/vocabulary/task-state';
import type { TaskNotices } from './notices/port.ts';

/** Report of a worker or a webhook target on a task. A null attempt means the current one. */
export interface Report {
  task_id: TaskId;
  attempt: number | null;
  outcome: Outcome;
  reason?: string;
  metadata_patch?: JsonObject;
  new_success?: number;
  new_failures?: number;
  result?: JsonValue;
  /** Number of nodes that a generator announced. It is `expanding` until all of them exist. */
  expected_created?: number;
  /** Marks a failure as permanent: the retry policy does not apply. */
  final?: boolean;
  /** Exit code of the command that it ran. */
  exit_code?: number;
  /**
   * Nodes, by name or id, that a success disables: those after the task in its sequence. Other names are ignored.
   */
  disable?: readonly string[];
  /** Notices to send in the same transaction as a success. */
  notices?: TaskNotices;
  /** Workflow of the task as given by the claim; saves the report a lookup. */
  workflow?: { id: WorkflowId; linked: boolean };
  /** All lines that the attempt logged, at most REPORTED_CHARS_MAX characters: stored in the same transaction. */
  log?: SlabLog;
}

/**
 * Result of a transition:
 * `applied`; `retrying` (a failure that the retry policy turned into the next attempt); `unchanged` (already so);
 * `conflict` (the task's state does not allow it); `not_started`; `stale_attempt`; `not_found`.
 */
export type TransitionResult =
  'applied' | 'retrying' | 'unchanged' | 'conflict' | 'not_started' | 'stale_attempt' | 'not_found';

export interface TransitionOutcome {
  task_id: TaskId;
  result: TransitionResult;
  /** State after the transition; null if there is no such task. */
  state: TaskState | null;
  /** Why a conflict is one, if its state does not show it. */
  reason?: string;
}

export type RunOperation = 'cancel' | 'pause' | 'resume' | 'retry';

export interface RunOutcome {
  id: WorkflowId;
  /** How many of its tasks changed. */
  tasks: number;
  /** Why none did; null if any did. */
  reason: string | null;
}

export interface RetryOptions {
  /** Reopens everything after the tasks, too, and accepts tasks that succeeded. */
  after?: boolean;
  /** New inputs of reopened tasks. */
  inputs?: ReadonlyMap<TaskId, JsonObject>;
}

export interface ProgressReport {
  task_id: TaskId;
  attempt: number | null;
  new_success: number;
  new_failures: number;
  idempotency_key: string | null;
}

export type ProgressResult = 'applied' | 'terminal' | 'not_found' | 'stale_attempt' | 'repeated' | 'key_reused';

/** Metadata to merge and counters to add, without a change of state. */
export interface TaskUpdate {
  task_id: TaskId;
  attempt: number | null;
  metadata_patch?: JsonObject;
  new_success?: number;
  new_failures?: number;
}
