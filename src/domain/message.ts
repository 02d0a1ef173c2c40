import type { ContainerId, TaskId } from './ids.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { WorkflowNotification } from './notification/notification.ts';
import type { DeadlineBasis } from './task.ts';
import type { NewContainerNode, NewNode } from './workflow.ts';

/** The name of the queue that the manager reads. */
export const MANAGER_QUEUE = 'manager';

/** The queue that workers of a kind read. */
export function workerQueueOf(kind: string): string {
  return `worker:${kind}`;
}

/** How a worker says that a task ended. */
export const COMPLETION_STATES = ['Succeeded', 'Failed', 'Timeout', 'PartiallyFailed'] as const;
export type CompletionState = (typeof COMPLETION_STATES)[number];

/** What the manager receives, parsed; the wire has the same members, tagged with `type`. */
export type ManagerMessage =
  CreateTaskCollectionMessage | CreateTaskMessage | CompleteTaskMessage | HeartbeatTaskMessage | WorkerSeenMessage;

/** A workflow to store and start. */
export interface CreateTaskCollectionMessage {
  type: 'CreateTaskCollection';
  collection: { name: string | null; root: NewContainerNode; notify?: readonly WorkflowNotification[] };
  /** The run of a job that it belongs to; null for any other. */
  job_run_id: string | null;
  /** W3C trace context that everything its tasks cause continues. */
  traceparent?: string;
}

/** A node that a running generator produced. */
export interface CreateTaskMessage {
  type: 'CreateTask';
  task: NewNode;
  generator_id: TaskId;
  /** The attempt that made it; null speaks for the current one. */
  attempt: number | null;
  /** The container it goes into, by id or by the submitter's own name; null: the generator's own. */
  parent_id: string | null;
}

export interface CompleteTaskMessage {
  type: 'CompleteTask';
  task_id: TaskId;
  state: CompletionState;
  root_container_id: ContainerId | null;
  data: JsonValue | null;
  /** Of a generator: how many CreateTask messages it sent; null for any other task. */
  expected_task_count: number | null;
  /** The attempt that ended; null speaks for the current one. */
  attempt: number | null;
  reason: string | null;
  /** Of a failure: trying again is in vain, and the retry policy has no say. */
  final: boolean;
  /** Of a success in a sequence: nodes after the task in that sequence, by name or id, that are disabled with it. */
  disable?: readonly string[];
}

/** A sign of life of an attempt; the first one says that it started. */
export interface HeartbeatTaskMessage {
  type: 'HeartbeatTask';
  task_id: TaskId;
  attempt: number;
  new_success: number;
  new_failures: number;
}

/** A worker's presence, every ten seconds: the kinds it runs are dispatched through their queues. */
export interface WorkerSeenMessage {
  type: 'WorkerSeen';
  worker: string;
  kinds: readonly string[];
  /** Handlers that it runs at once. */
  concurrency: number;
}

/** What a worker receives. */
export interface StartTaskMessage {
  type: 'StartTask';
  root_container_id: ContainerId;
  task: StartedTask;
  /** W3C trace context for what the attempt does; absent where there is none. */
  traceparent?: string;
}

export interface StartedTask {
  id: TaskId;
  kind: string;
  name: string;
  /** The submitter's own name for it; null where it has none. */
  local_id: string | null;
  input: JsonObject;
  attempt: number;
  timeout_secs: number;
  /** Absent: `activity`. */
  timeout_basis?: DeadlineBasis;
  /** The container it stands in; null for a task of a batch. */
  parent_id: ContainerId | null;
}
