import type {
  Job,
  JobChange,
  JobRun,
  JobRunState,
  JobWithDefinition,
  ListedJob,
  NewJob,
} from '../../domain/schedule.ts';
import type { ContainerState, TaskState } from '../../domain/task-state.ts';

/** What the API does with jobs. A key is a job's id or its name; where there is no such job, the answer is null. */
export interface Jobs {
  /** @throws HeddleError VALIDATION_FAILED; CONFLICT where the name is taken */
  create(job: NewJob): Promise<JobWithDefinition>;
  get(key: string): Promise<JobWithDefinition | null>;
  /** By name, without definitions, each with the latest entry of its history. */
  list(page: { paused?: boolean; offset: number; limit: number }): Promise<ListedJob[]>;
  /**
   * A new expression or time zone counts from now on.
   *
   * @throws HeddleError VALIDATION_FAILED; CONFLICT where the new name is taken
   */
  update(key: string, change: JobChange): Promise<JobWithDefinition | null>;
  /** Removes it with its history; runs that are under way go on. Whether there was one. */
  remove(key: string): Promise<boolean>;
  /** Nothing starts by its schedule until it is resumed. */
  pause(key: string): Promise<JobWithDefinition | null>;
  /**
   * Its next occurrence is the first from now on: what passed while it was paused was not missed.
   *
   * @throws HeddleError VALIDATION_FAILED where its expression or definition is not valid
   */
  resume(key: string): Promise<JobWithDefinition | null>;
  /**
   * Starts it now, also where it is paused or used up; the recurrence stays as it is.
   *
   * @throws HeddleError CONFLICT where its overlap policy does not allow another run; VALIDATION_FAILED where its
   * definition is not valid any more
   *
   * @param once an idempotency key: a repeat answers the run of the first time as it now is, and starts nothing
   */
  trigger(key: string, once?: string | null): Promise<JobRun | null>;
  /** Its next occurrences, at most as many as it will still start; none while it is paused. */
  upcoming(key: string, count: number): Promise<{ job: Job; times: number[] } | null>;
  /** Latest occurrence first. */
  history(key: string, page: { state?: JobRunState; offset: number; limit: number }): Promise<JobRun[] | null>;
}

/** A workflow of a job that has ended. */
export interface JobRunEnd {
  workflow_id: string;
  job_run_id: string;
  root_state: Exclude<ContainerState, 'waiting' | 'running'>;
  /** Milliseconds since the epoch. */
  ended_at: number;
  /** Its tasks by state. */
  counts: Partial<Record<TaskState, number>>;
  reason?: string | null;
}

/** What one pass over the due jobs did. */
export interface DueJobsResult {
  started: number;
  queued: number;
  /** Entries of the history for occurrences that do not run. */
  skipped: number;
  /** Jobs that were paused because they cannot be started. */
  paused: number;
  /** As many jobs were due as were asked for: there may be more. */
  more: boolean;
}
