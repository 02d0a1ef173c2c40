import type { TaskId, WorkflowId } from '@heddle/base/ids';
import type { JsonObject } from '@heddle/base/json';
import type { DeadlineBasis } from '@heddle/base/vocabulary/task-fields';
import type { TaskRunner } from './runners/port.ts';

export interface ClaimRequest {
  /** `webhook`, `kind:NAME` for each kind that the claimer runs, or `runner:NUMBER` for a runner's own lane. */
  lanes: readonly string[];
  limit: number;
  /** Name of the claimer: shown by explain, returned by `attemptHolders`. */
  holder: string;
  /**
   * Lease of an attempt without a heartbeat, milliseconds; after that the task is requeued as its next attempt. Null:
   * until the task's deadline.
   */
  lease_ms?: number | null;
  /** Whether to look up the trace of each task; always true while tracing is on. */
  traced?: boolean;
}

/** Claim that rides on another call, which saves a transaction. */
export interface ClaimAlong {
  request: ClaimRequest;
  /** Called once: with the claimed tasks, or with null if the call failed and nothing was claimed. */
  arrived(tasks: ClaimedTask[] | null): void;
}

/** Task handed to the process that will run it; it is `running` already. */
export interface ClaimedTask {
  id: TaskId;
  workflow_id: WorkflowId;
  kind: string;
  name: string;
  attempt: number;
  metadata: JsonObject;
  timeout_secs: number;
  /** Start of its timeout. */
  timeout_basis: DeadlineBasis;
  /** Whether its workflow has dependencies. */
  linked: boolean;
  /** Parent container; null for a task of a batch. */
  container_id: string | null;
  local_id: string | null;
  /** Runners granted for its requirements, the claiming one included; absent if it requires none. */
  runners?: readonly TaskRunner[];
  /** W3C trace context for the attempt; absent if there is none, or none was requested. */
  traceparent?: string;
}

/** Heartbeat of an attempt, with the work done since the last one. The first one starts a claimed task. */
export interface Heartbeat {
  task_id: TaskId;
  attempt: number;
  new_success: number;
  new_failures: number;
}

/** `canceled`, `stale_attempt` and `not_found` tell the worker to stop. */
export type HeartbeatResult = 'applied' | 'canceled' | 'stale_attempt' | 'not_found';

/** Kind that no worker has ever asked for. */
export interface UnknownKind {
  kind: string;
  /** Most similar kind that a worker has asked for; null if none is similar. */
  did_you_mean: string | null;
}

/** Holder of the current attempt of a task. */
export interface AttemptHolder {
  task_id: TaskId;
  attempt: number;
  /** Name of its worker; null if no attempt is open. */
  holder: string | null;
  /** Only a webhook target works on the task. */
  starts_by_webhook: boolean;
  kind: string;
  /** Whether secrets were sent to the worker or target that runs the task. */
  secrets_sent: boolean;
  /** Whether its message waited in the queue of its kind: which worker received it is unknown here. */
  from_queue: boolean;
}
