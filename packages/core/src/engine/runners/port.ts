import type { TaskId } from '@heddle/base/ids';
import type { Demand } from '@heddle/base/vocabulary/requirements';

/** A runner assigned to a task. */
export interface TaskRunner {
  readonly id: string;
  readonly number: number;
  readonly instance_type: string;
  /** Address for the other runners of the task; null if unknown. */
  readonly address: string | null;
}

/** Runners that the next attempt of a task needs. */
export interface TaskRunnerRequest extends Demand {
  /** Derived from the task and its attempt, which makes requests idempotent. */
  readonly id: string;
  readonly task_id: TaskId;
  /** Number of the next attempt. */
  readonly attempt: number;
  /** Tenant that fairness applies to. */
  readonly tenant: string;
}

/** Requests runners for tasks; implemented by the pool. Every method is safe to repeat after a crash. */
export interface RunnerBroker {
  /** Requests runners; repeated demands change nothing. */
  ask(demands: readonly TaskRunnerRequest[]): Promise<void>;
}

/** Result of one pass over the tasks that need runners. */
export interface RunnerRequestCounts {
  /** Tasks for which runners were requested. */
  asked: number;
  /** Attempts that were requeued because their runners are gone. */
  requeued: number;
  /** Whether the pass reached its limit. */
  more: boolean;
}
