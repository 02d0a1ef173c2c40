import { LATE_AFTER_MS } from '../../domain/schedule.ts';
import type { JobTroubleRow } from '../../store/overview/troubles.ts';
import { counted } from '../explain-summary.ts';
import type { Attention, UnreachableExecutor } from './port.ts';

/** Runs of a job that are examined, its latest. */
const RUNS_MAX = 20;

/** Jobs whose latest runs failed, that missed an occurrence, or that were paused because of an error. */
export function jobItems(rows: readonly JobTroubleRow[], now: number): Attention[] {
  return rows.flatMap((row) => [...failedRuns(row), ...missedRuns(row, now)]);
}

function failedRuns({ id, name, failed, since, state, reason, workflow_id }: JobTroubleRow): Attention[] {
  if (failed === 0) return [];
  const runs = failed === 1 ? 'The last run' : `The last ${counted(failed, 'run')}`;
  const why = reason === null ? '' : `: ${reason}`;
  return [
    {
      type: 'job_failed',
      severity: state === 'PartiallyFailed' ? 'warning' : 'error',
      title: `${runs} of the job "${name}" failed${why}.`,
      remedy: `Look at its failed tasks and retry them, or run the job again: heddle job trigger ${JSON.stringify(name)}`,
      since,
      count: failed,
      count_capped: failed >= RUNS_MAX,
      job_id: id,
      ...(workflow_id === null ? {} : { run_id: workflow_id }),
    },
  ];
}

function missedRuns(row: JobTroubleRow, now: number): Attention[] {
  const missed = { type: 'job_missed', count: 1, count_capped: false, job_id: row.id } as const;
  const name = JSON.stringify(row.name);
  if (row.paused_reason !== null) {
    return [
      {
        ...missed,
        severity: 'error',
        title: `The job ${name} was paused because of an error: ${row.paused_reason}.`,
        remedy: `Fix the job, then resume it: heddle job resume ${name}`,
        since: row.updated_at,
      },
    ];
  }
  if (row.next_run_at !== null && now - row.next_run_at > 2 * LATE_AFTER_MS) {
    return [
      {
        ...missed,
        severity: 'error',
        title: `The job ${name} was due at ${new Date(row.next_run_at).toISOString()} and has not been started.`,
        remedy: 'Check the logs of the servers: one of them starts the jobs.',
        since: row.next_run_at,
      },
    ];
  }
  if (row.skipped_at === null) return [];
  const why = row.skipped_reason === null ? '' : `: ${row.skipped_reason}`;
  return [
    {
      ...missed,
      severity: 'warning',
      title: `The job ${name} skipped its last occurrence, of ${new Date(row.skipped_at).toISOString()}${why}.`,
      remedy: `Run it now if it matters: heddle job trigger ${name}; or change its overlap or catch-up policy.`,
      since: row.skipped_at,
    },
  ];
}

export function executorItems(unreachable: readonly UnreachableExecutor[]): Attention[] {
  return unreachable.map(({ executor, endpoint, since, message }) => ({
    type: 'executor_unreachable',
    severity: 'error',
    title: `The executor ${executor} (${endpoint}) does not respond${message === null ? '' : `: ${message}`}.`,
    remedy: 'Check that it runs and that this server can reach it; tasks that need it are retried.',
    since,
    count: 1,
    count_capped: false,
    executor,
  }));
}
