import type {
  BasicTaskDto,
  BatchChangeDto,
  LogPageDto,
  SubmissionWarningDto,
  WorkflowChangeDto,
  WorkflowDto,
} from './wire-types.ts';

export interface Page {
  page?: number;
  page_size?: number;
}

export interface TaskListFilter extends Page {
  status?: BasicTaskDto['status'];
  kind?: string;
  name?: string;
  batch_id?: string;
  /** JSON that the metadata must contain. */
  metadata?: Record<string, unknown>;
  /** The `next` of the page before, instead of `page`. */
  after?: string;
}

export interface SubmitOptions {
  /** Display name of the batch. */
  batchName?: string;
  /** A repeat with the same key returns the first response and creates nothing. */
  idempotencyKey?: string;
  /** W3C trace context that the submission continues. */
  traceparent?: string;
}

export interface Submitted<Task> {
  /** Null if nothing was created. */
  batchId: string | null;
  tasks: Task[];
  /** Warnings for the submitter, such as kinds that no worker has ever requested. */
  warnings: SubmissionWarningDto[];
}

/** One event of a batch's stream. Nothing follows `end`. */
export type BatchEvent = { type: 'change' | 'end' } & BatchChangeDto;

/** One event of a workflow's stream. Nothing follows `end`. */
export type WorkflowEvent = { type: 'change' | 'end' } & WorkflowChangeDto;

export interface WorkflowListFilter extends Page {
  /** Only those with unfinished tasks, or only those without. */
  open?: boolean;
  state?: WorkflowDto['state'];
  /** The `next` of the page before, instead of `page`. */
  after?: string;
}

export interface ResultFilter {
  page_size?: number;
  /** Only results of tasks with ids after this one. */
  after?: string;
  /** Only of tasks in this container or below it. */
  container_id?: string;
  /** Only results of what precedes this task in its container. */
  before_task_id?: string;
}

export interface AttemptFilter {
  page_size?: number;
  /** Only attempts with lower numbers. */
  before?: number;
}

export interface LogFilter {
  attempt?: number;
  /** Number of the first line. */
  from?: number;
  /** Only the last lines, instead of `from`. */
  tail?: number;
  /** Maximum number of lines, 1,000 by default. */
  limit?: number;
}

/** One event of a log's stream. Nothing follows `end`. */
export type LogEvent = { type: 'change' | 'end' } & LogPageDto;
