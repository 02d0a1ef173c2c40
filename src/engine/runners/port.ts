import type { TaskId } from '../../domain/ids.ts';
import type { Demand } from '../../domain/runner/requirements.ts';

/** A runner that a task has to itself. */
export interface TaskRunner {
  readonly id: string;
  readonly number: number;
  readonly instance_type: string;
  /** Where the others of the task reach it; null where it did not say. */
  readonly address: string | null;
}

/** What the next attempt of a task asks of the pool. */
export interface TaskDemand extends Demand {
  /** Made of the task and what it asked for before, so that asking twice is asking once. */
  readonly id: string;
  readonly task_id: TaskId;
  /** The attempt to come. */
  readonly attempt: number;
  /** Whom it is fair to. */
  readonly tenant: string;
}

/** Where tasks get their runners; the pool fulfils it. Every method may be called again after a crash. */
export interface RunnerDesk {
  /** Asks for runners; demands that it knows already change nothing. */
  ask(demands: readonly TaskDemand[]): Promise<void>;
}

/** What one pass over the tasks that need runners did. */
export interface RunnersAsked {
  /** Tasks that runners were asked for. */
  asked: number;
  /** Attempts that began anew, since their runners are gone. */
  taken_back: number;
  /** Whether it stopped at its bound. */
  more: boolean;
}
