import type { TaskId, WorkflowId } from '../domain/ids.ts';
import type { JsonObject } from '../domain/json.ts';
import type { DeadlineBasis } from '../domain/task.ts';
import type { TaskRunner } from './runners/port.ts';

export interface ClaimRequest {
  /** `webhook`, `kind:NAME` for each kind that the claimer runs, or `runner:NUMBER` of the runner that it is. */
  lanes: readonly string[];
  limit: number;
  /** Who claims: shown by explain, and told by `attemptHolders`. */
  holder: string;
  /**
   * How long an attempt is kept without a heartbeat, milliseconds; after that the task is another's, as its next attempt.
   * Null: until the task's deadline.
   */
  lease_ms?: number | null;
  /** Whether to look up the trace of each task; while tracing is on it is looked up in any case. */
  traced?: boolean;
}

/** A claim that rides on another call, for one transaction less. */
export interface ClaimAlong {
  request: ClaimRequest;
  /** Called once: with what was claimed, or null where the call failed and nothing was. */
  arrived(tasks: ClaimedTask[] | null): void;
}

/** A task handed to the process that will run it; it is `running` already. */
export interface ClaimedTask {
  id: TaskId;
  workflow_id: WorkflowId;
  kind: string;
  name: string;
  attempt: number;
  metadata: JsonObject;
  timeout_secs: number;
  /** What its timeout is counted from. */
  timeout_basis: DeadlineBasis;
  /** Whether its workflow has dependencies. */
  linked: boolean;
  /** The container it stands in; null for a task of a batch. */
  container_id: string | null;
  local_id: string | null;
  /** Those that its requirements got it, the one that claimed it among them; absent where it needs none. */
  runners?: readonly TaskRunner[];
  /** W3C trace context for what the attempt does; absent where there is none, or none was asked for. */
  traceparent?: string;
}

/** A sign of life of an attempt, with what it got done since the last one. The first one starts a claimed task. */
export interface Heartbeat {
  task_id: TaskId;
  attempt: number;
  new_success: number;
  new_failures: number;
}

/** `canceled`, `stale_attempt` and `not_found` tell the worker to stop. */
export type HeartbeatResult = 'applied' | 'canceled' | 'stale_attempt' | 'not_found';

/** A kind that no worker has ever asked for. */
export interface UnknownKind {
  kind: string;
  /** The nearest kind that one has asked for; null where none is near. */
  did_you_mean: string | null;
}

/** Who holds the current attempt of a task. */
export interface AttemptHolder {
  task_id: TaskId;
  attempt: number;
  /** Who claimed it; null where no attempt is open. */
  holder: string | null;
  /** A webhook's target works on it, and nobody else. */
  starts_by_webhook: boolean;
}
