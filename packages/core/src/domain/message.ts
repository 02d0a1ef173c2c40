import type { ContainerId, TaskId } from '@heddle/base/ids';
import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { WorkflowNotification } from './notification/notification.ts';
import type { DeadlineBasis } from '@heddle/base/vocabulary/task-fields';
import type { NewContainerNode, NewNode } from '@heddle/base/vocabulary/workflow';

/** Queue that the manager reads. */
export const MANAGER_QUEUE = 'manager';

/** Returns the queue that workers of a kind read. */
export function workerQueueOf(kind: string): string {
  return `worker:${kind}`;
}

/** End of a task as reported by a worker. */
export const COMPLETION_STATES = ['Succeeded', 'Failed', 'Timeout', 'PartiallyFailed'] as const;
export type CompletionState = (typeof COMPLETION_STATES)[number];

/** Parsed message to the manager; on the wire it has the same members, tagged with `type`. */
export type ManagerMessage =
  CreateTaskCollectionMessage | CreateTaskMessage | CompleteTaskMessage | HeartbeatTaskMessage | WorkerSeenMessage;

/** Workflow to store and start. */
export interface CreateTaskCollectionMessage {
  type: 'CreateTaskCollection';
  collection: { name: string | null; root: NewContainerNode; notify?: readonly WorkflowNotification[] };
  /** Job run that it belongs to; null for any other workflow. */
  job_run_id: string | null;
  /** W3C trace context that everything its tasks cause continues. */
  traceparent?: string;
}

/** Node created by a running generator. */
export interface CreateTaskMessage {
  type: 'CreateTask';
  task: NewNode;
  generator_id: TaskId;
  /** Attempt that created it; null: the current one. */
  attempt: number | null;
  /** Parent container, by id or by the submitter's name; null: the generator's own container. */
  parent_id: string | null;
}

export interface CompleteTaskMessage {
  type: 'CompleteTask';
  task_id: TaskId;
  state: CompletionState;
  root_container_id: ContainerId | null;
  data: JsonValue | null;
  /** Number of CreateTask messages that a generator sent; null for any other task. */
  expected_task_count: number | null;
  /** Attempt that ended; null: the current one. */
  attempt: number | null;
  reason: string | null;
  /** Marks a failure as permanent: the retry policy does not apply. */
  final: boolean;
  /** Nodes, by name or id, that a success disables: those after the task in its sequence. */
  disable?: readonly string[];
  /** Exit code of the command that it ran. */
  exit_code?: number;
}

/** Heartbeat of an attempt; the first one means that it started. */
export interface HeartbeatTaskMessage {
  type: 'HeartbeatTask';
  task_id: TaskId;
  attempt: number;
  new_success: number;
  new_failures: number;
}

/** Presence of a worker, sent every ten seconds: its kinds are dispatched through their queues. */
export interface WorkerSeenMessage {
  type: 'WorkerSeen';
  worker: string;
  kinds: readonly string[];
  /** Number of handlers that it runs at once. */
  concurrency: number;
}

/** Message to a worker. */
export interface StartTaskMessage {
  type: 'StartTask';
  root_container_id: ContainerId;
  task: StartedTask;
  /** W3C trace context for the attempt; absent if there is none. */
  traceparent?: string;
}

export interface StartedTask {
  id: TaskId;
  kind: string;
  name: string;
  /** Submitter's own name for it; null if it has none. */
  local_id: string | null;
  input: JsonObject;
  attempt: number;
  timeout_secs: number;
  /** `activity` if absent. */
  timeout_basis?: DeadlineBasis;
  /** Parent container; null for a task of a batch. */
  parent_id: ContainerId | null;
}
