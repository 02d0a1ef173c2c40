import { HeddleError } from '@heddle/base/errors';
import type { Job } from '../../domain/schedule.ts';
import { listRunsBetween } from '../../store/job-history.ts';
import { listScheduledJobs, readNow } from '../../store/jobs.ts';
import type { JobContext } from './context.ts';
import { parseSchedule, type Schedule } from './cron.ts';
import type { BackfillRange, Calendar, CalendarEntry } from './port.ts';

const ENTRIES_MAX = 2000;
const DAYS_MAX = 400;
const DAY_MS = 86_400_000;
/** Jobs whose next occurrences are calculated, by name. */
const JOBS_MAX = 1000;
/** Occurrences before the range that all jobs with a limited recurrence may count together. */
const EARLIER_MAX = 10_000;

/**
 * Returns what jobs started in a range, by their histories, and what they will start, by their schedules; oldest first.
 *
 * @throws HeddleError VALIDATION_FAILED if the range ends before it begins, or is too long
 */
export async function readCalendar(context: JobContext, range: BackfillRange): Promise<Calendar> {
  const { since, until } = range;
  if (until < since || until - since > DAYS_MAX * DAY_MS) {
    const fault = until < since ? 'is before since; exchange the two' : `must be at most ${DAYS_MAX} days after since`;
    throw new HeddleError('VALIDATION_FAILED', undefined, { details: [`until: ${fault}`] });
  }
  const now = await readNow(context.database, context.now());
  const { runs, total } = await listRunsBetween(context.database, range, ENTRIES_MAX);
  const past = runs.map(({ job_name, run: { job_id, scheduled_for, state, reason, workflow_id } }): CalendarEntry => {
    return { job_id, job_name, at: scheduled_for, type: 'past', state, reason, run_id: workflow_id };
  });
  const jobs = until < now ? [] : await listScheduledJobs(context.database, JOBS_MAX);
  const next = occurrencesOf(jobs, range);
  const entries = [...past, ...next].sort((one, other) => one.at - other.at);
  const left_out = total - past.length + Math.max(0, entries.length - ENTRIES_MAX);
  return { entries: entries.slice(0, ENTRIES_MAX), left_out };
}

/** Merges the next occurrences of jobs, at most one more than twice what a calendar shows, so that the rest is counted. */
function occurrencesOf(jobs: readonly Job[], { since, until }: BackfillRange): CalendarEntry[] {
  const budget = { earlier: EARLIER_MAX };
  const sources = jobs.flatMap((job) => sourceOf(job, since, budget) ?? []);
  const entries: CalendarEntry[] = [];
  while (entries.length < 2 * ENTRIES_MAX) {
    let first: Source | null = null;
    for (const source of sources) {
      if (source.at !== null && source.at <= until && (first === null || source.at < first.at!)) first = source;
    }
    if (first === null) break;
    const { job, at } = first;
    entries.push({
      job_id: job.id,
      job_name: job.name,
      at: at!,
      type: 'next',
      state: null,
      reason: null,
      run_id: null,
    });
    first.left -= 1;
    first.at = first.left > 0 ? first.schedule.next(at!) : null;
  }
  return entries;
}

interface Source {
  job: Job;
  schedule: Schedule;
  at: number | null;
  /** Occurrences that it will still start. */
  left: number;
}

/** The stored occurrence comes first, even if it has passed and has not been started yet. */
function sourceOf(job: Job, since: number, budget: { earlier: number }): Source | null {
  const schedule = scheduleOf(job);
  if (schedule === null || job.next_run_at === null) return null;
  let left = job.recurrence ?? Infinity;
  let at: number | null = job.next_run_at;
  if (at < since && left === Infinity) at = schedule.next(since - 1);
  while (at !== null && at < since && left > 0) {
    at = schedule.next(at);
    left -= 1;
    budget.earlier -= 1;
    if (budget.earlier < 0) return null;
  }
  return { job, schedule, at: left > 0 ? at : null, left };
}

/** A job that can no longer be read is paused when it is due. */
function scheduleOf(job: Job): Schedule | null {
  try {
    return parseSchedule(job.cron, job.time_zone);
  } catch {
    return null;
  }
}
