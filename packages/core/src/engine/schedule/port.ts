import type {
  Job,
  JobChange,
  JobRun,
  JobRunState,
  JobWithDefinition,
  ListedJob,
  NewJob,
} from '../../domain/schedule.ts';
import type { IdempotencyKey } from '../port.ts';
import type { ContainerState, TaskState } from '@heddle/base/vocabulary/task-state';

/** Operations of the API on jobs. A key is a job's id or its name; the result is null if there is no such job. */
export interface Jobs {
  /** @throws HeddleError VALIDATION_FAILED; CONFLICT if the name is taken */
  create(job: NewJob): Promise<JobWithDefinition>;
  get(key: string): Promise<JobWithDefinition | null>;
  /** Sorted by name, without definitions, each with the latest `runs` entries of its history. */
  list(page: { paused?: boolean; runs?: number; offset: number; limit: number }): Promise<ListedJob[]>;
  /**
   * Updates a job. A new expression or time zone applies from now on.
   *
   * @throws HeddleError VALIDATION_FAILED; CONFLICT if the new name is taken
   */
  update(key: string, change: JobChange): Promise<JobWithDefinition | null>;
  /** Deletes a job with its history; running runs continue. Returns whether there was one. */
  remove(key: string): Promise<boolean>;
  /** Pauses a job: its schedule starts nothing until it is resumed. */
  pause(key: string): Promise<JobWithDefinition | null>;
  /**
   * Resumes a job. Its next occurrence is the first from now on; those that passed while it was paused do not count as
   * missed.
   *
   * @throws HeddleError VALIDATION_FAILED if its expression or definition is invalid
   */
  resume(key: string): Promise<JobWithDefinition | null>;
  /**
   * Starts a job now, even if it is paused or used up; its schedule does not change.
   *
   * @throws HeddleError CONFLICT if its overlap policy does not allow another run; VALIDATION_FAILED if its definition
   * is no longer valid
   *
   * @param once idempotency key: a repeat returns the current state of the first run, and starts nothing
   * @param traceparent trace that its workflow continues if it starts at once; a run that waits begins its own
   */
  trigger(key: string, once?: string | null, traceparent?: string | null): Promise<JobRun | null>;
  /** Returns its next occurrences, at most as many as it will still start; none while it is paused. */
  upcoming(key: string, count: number): Promise<{ job: Job; times: number[] } | null>;
  /**
   * Returns the next occurrences of a schedule that no job needs to have.
   *
   * @throws HeddleError VALIDATION_FAILED if it is invalid, or never occurs
   */
  preview(cron: string, timeZone: string, count: number): Promise<number[]>;
  /**
   * Starts a run for each occurrence of a range of the past; with `dry_run` it only returns them. A repeat with the same
   * key returns the first answer, and starts nothing.
   *
   * @throws HeddleError VALIDATION_FAILED if the range is invalid or has too many occurrences; IDEMPOTENCY_MISMATCH
   */
  backfill(
    key: string,
    request: BackfillRange & { dry_run: boolean; idempotency: IdempotencyKey | null },
  ): Promise<Backfill | null>;
  /** @throws HeddleError VALIDATION_FAILED if the range is invalid */
  calendar(range: BackfillRange): Promise<Calendar>;
  /** Returns the latest occurrence first. */
  history(key: string, page: { state?: JobRunState; offset: number; limit: number }): Promise<JobRun[] | null>;
}

/** A range of time, both ends included, milliseconds since the epoch. */
export interface BackfillRange {
  since: number;
  until: number;
}

export interface Backfill {
  /** Oldest first. */
  occurrences: number[];
  /** Runs that started, or wait for others. */
  started: number;
}

/** What a job started, or will start. */
export interface CalendarEntry {
  job_id: string;
  job_name: string;
  at: number;
  type: 'past' | 'next';
  /** Null for what is still to come, like the reason. */
  state: JobRunState | null;
  reason: string | null;
  /** The workflow that it started. */
  run_id: string | null;
}

export interface Calendar {
  /** Oldest first. */
  entries: CalendarEntry[];
  /** Number of further entries; of those to come at most 2,000 are counted. */
  left_out: number;
}

/** Ended workflow of a job. */
export interface JobRunEnd {
  workflow_id: string;
  job_run_id: string;
  root_state: Exclude<ContainerState, 'waiting' | 'running'>;
  /** Milliseconds since the epoch. */
  ended_at: number;
  /** Number of its tasks by state. */
  counts: Partial<Record<TaskState, number>>;
  reason?: string | null;
}

/** Result of one pass over the due jobs. */
export interface DueJobsResult {
  started: number;
  queued: number;
  /** Occurrences recorded in the history without a run. */
  skipped: number;
  /** Jobs that were paused because they cannot be started. */
  paused: number;
  /** Whether the limit of due jobs was reached, so there may be more. */
  more: boolean;
}
