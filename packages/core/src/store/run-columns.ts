import {
  RUN_KINDS_SHOWN,
  runState,
  runTitle,
  type Run,
  type RunCounts,
  type RunState,
} from '@heddle/base/vocabulary/run';
import { taskStateOf, type TerminalState } from '@heddle/base/vocabulary/task-state';
import { withCodes } from './sql-names.ts';

/** Tasks of a run that are searched for its first start, as stored: mostly those that start first. */
const START_LOOK_TASKS = 50;
/** Tasks of a run that are searched for a failure if the one that was noted runs again. */
const FAILURE_LOOK_TASKS = 1000;

/** The columns that lists of runs order, filter and show by, of `workflow_all` as `w`. */
export const RUN_BASE = `w.id, w.name, w.is_tree, w.task_count, w.remaining, w.succeeded, w.failed, w.canceled, w.skipped,
  w.failing, w.failed_task, w.outcome, w.kinds, w.paused, w.job_run_id, w.created_at, w.ended_at, w.archived`;

const startOf = (tasks: string): string =>
  `(select min(s.started_at) from (select t.started_at from ${tasks} t where t.workflow_id = w.id limit ${START_LOOK_TASKS}) s)`;

/** When the first of some tasks of `w` started. */
export const RUN_START = `case when w.archived then ${startOf('archive_task')} else ${startOf('task')} end`;

const failureOf = (tasks: string): string =>
  `(select s.id from (select t.id, t.state from ${tasks} t where t.workflow_id = w.id limit ${FAILURE_LOOK_TASKS}) s
    where s.state in (:failed, :timed_out, :partially_failed) limit 1)`;

/**
 * Why a failed run of a job failed: its first failed task with its reason, or else the run's own reason.
 * @param run alias of rows with `workflow_id` and `reason`
 */
export const failureReasonOf = (run: string): string =>
  `coalesce((select t.name || ': ' || t.reason from workflow_all w join task_all t on t.id = w.failed_task
    where w.id = ${run}.workflow_id), ${run}.reason)`;

/** What the state of a run follows from, but for its start. */
export const RUN_COUNTS = `w.task_count, w.remaining, coalesce(w.succeeded, 0) as succeeded,
  coalesce(w.failed, 0) as failed, coalesce(w.canceled, 0) as canceled, coalesce(w.skipped, 0) as skipped, w.outcome,
  w.paused`;

/** What a run is shown with, of rows of RUN_BASE as `w`; `joins` belong to the columns. */
export const RUN_COLUMNS = withCodes(`w.id, w.name, w.is_tree, ${RUN_COUNTS}, w.created_at, w.ended_at, w.archived,
  ${RUN_START} as started_at, failure.id as failed_task,
  failure.name as failed_name, failure.reason, job.id as job_id, job.name as job_name,
  array(select k.name from unnest(w.kinds[1:${RUN_KINDS_SHOWN}]) with ordinality u(id, ord) join kind k on k.id = u.id
    order by u.ord) as kinds,
  coalesce(cardinality(w.kinds), 0) as kind_count`);

export const RUN_JOINS = withCodes(`left join lateral (
    select t.id, t.name, t.reason from task_all t
    where t.id = case when w.failing then coalesce(w.failed_task,
      case when w.archived then ${failureOf('archive_task')} else ${failureOf('task')} end) end limit 1) failure on true
  left join lateral (
    select j.id, j.name from recon.job_history h join recon.jobs j on j.id = h.job_id
    where h.id = w.job_run_id limit 1) job on true`);

/** What the state of a run follows from. */
export interface RunStateRecord {
  task_count: number;
  remaining: number;
  succeeded: number;
  failed: number;
  canceled: number;
  skipped: number;
  outcome: number | null;
  paused: boolean;
  started_at: number | null;
}

export interface RunRecord extends RunStateRecord {
  id: string;
  name: string | null;
  is_tree: boolean;
  created_at: number;
  ended_at: number | null;
  archived: boolean;
  failed_task: string | null;
  failed_name: string | null;
  reason: string | null;
  job_id: string | null;
  job_name: string | null;
  kinds: string[];
  kind_count: number;
}

export function runOf(row: RunRecord): Run {
  const type = row.is_tree ? 'workflow' : 'batch';
  return {
    id: row.id,
    type,
    name: row.name,
    title: runTitle(row.name, type, row.kinds, row.kind_count),
    state: stateOf(row),
    counts: countsOf(row),
    reason: row.reason,
    failed_task: row.failed_task === null ? null : { id: row.failed_task, name: row.failed_name! },
    job: row.job_id === null ? null : { id: row.job_id, name: row.job_name! },
    kinds: row.kinds,
    created_at: row.created_at,
    started_at: row.started_at,
    ended_at: row.ended_at,
    archived: row.archived,
  };
}

function countsOf({ task_count, remaining, succeeded, failed, canceled, skipped }: RunStateRecord): RunCounts {
  return { total: task_count, remaining, succeeded, failed, canceled, skipped };
}

export function stateOf(row: RunStateRecord): RunState {
  const outcome = row.outcome === null ? null : (taskStateOf(row.outcome) as TerminalState);
  return runState({ outcome, counts: countsOf(row), paused: row.paused, begun: row.started_at !== null });
}
