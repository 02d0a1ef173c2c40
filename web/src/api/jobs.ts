import type {
  BackfillResult,
  CalendarEntry,
  Job,
  JobDetail,
  JobRun,
  Occurrence,
  SubmissionWarning,
} from '@heddle/client';
import { queryOf } from '../data/filters.ts';
import { getJson, request, segment } from './client.ts';
import { pageByNumber } from './paging.ts';
import { sendJson } from './tasks.ts';

const RECENT_RUNS = 8;
/** Rows of a call that reads several pages. */
const PAGE_SIZE = 100;

const jobPath = (job: string): string => `/v1/jobs/${segment(job)}`;

/** What the console asks about schedules. */
export const jobs = {
  list: (paused: string, page: string | null, signal: AbortSignal) =>
    pageByNumber<Job>('/v1/jobs', { paused }, page, signal),
  get: (job: string, signal: AbortSignal) => getJson<JobDetail>(jobPath(job), signal),
  next: (job: string, count: number, signal: AbortSignal) =>
    getJson<Occurrence[]>(`${jobPath(job)}/next?count=${count}`, signal),
  /** The next occurrences of a schedule that may not be stored yet. */
  preview: (cron: string, timeZone: string, signal: AbortSignal) =>
    getJson<Occurrence[]>(`/v1/occurrences${queryOf({ cron, time_zone: timeZone, count: 5 })}`, signal),
  /** Its latest run, if it has any. */
  lastRun: async (job: string, signal: AbortSignal) =>
    (await getJson<JobRun[]>(`${jobPath(job)}/history?page_size=1`, signal))[0] ?? null,
  history: (job: string, state: string, page: string | null, signal: AbortSignal) =>
    pageByNumber<JobRun>(`${jobPath(job)}/history`, { state }, page, signal),
};

/** The latest runs of the jobs on the first `count` places of the list, by job. */
export async function recentRuns(
  paused: string,
  count: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly JobRun[]>> {
  const pages = Array.from({ length: Math.ceil(count / PAGE_SIZE) }, (_, page) =>
    getJson<Job[]>(`/v1/jobs${queryOf({ paused, page, page_size: PAGE_SIZE, recent_runs: RECENT_RUNS })}`, signal),
  );
  return new Map((await Promise.all(pages)).flat().map(({ id, recent_runs }) => [id, recent_runs]));
}

export interface Calendar {
  entries: readonly CalendarEntry[];
  /** Number of further entries. */
  leftOut: number;
}

export async function readCalendar(since: string, until: string, signal: AbortSignal): Promise<Calendar> {
  const response = await request(`/v1/jobs/calendar${queryOf({ since, until })}`, { signal });
  return {
    entries: (await response.json()) as CalendarEntry[],
    leftOut: Number(response.headers.get('x-left-out') ?? 0),
  };
}

export async function operateJob(job: string, operation: 'pause' | 'resume'): Promise<void> {
  await sendJson('POST', `${jobPath(job)}/${operation}`);
}

/** Starts a job now; throws an ApiError if its overlap policy does not allow another run. */
export async function triggerJob(job: string): Promise<JobRun> {
  return (await (await sendJson('POST', `${jobPath(job)}/trigger`)).json()) as JobRun;
}

export async function deleteJob(job: string): Promise<void> {
  await sendJson('DELETE', jobPath(job));
}

/** Creates a job, or changes the one given; returns its name, and warnings such as kinds that no worker has requested. */
export async function storeJob(
  job: string | null,
  body: Readonly<Record<string, unknown>>,
): Promise<{ name: string; warnings: readonly SubmissionWarning[] }> {
  const response = await (job === null ? sendJson('POST', '/v1/jobs', body) : sendJson('PATCH', jobPath(job), body));
  const { name } = (await response.json()) as JobDetail;
  return { name, warnings: JSON.parse(response.headers.get('x-warnings') ?? '[]') as SubmissionWarning[] };
}

export interface BackfillRange {
  since: string;
  until: string;
}

/** The occurrences that a backfill would start. */
export async function planBackfill(job: string, range: BackfillRange): Promise<readonly string[]> {
  const response = await sendJson('POST', `${jobPath(job)}/backfill`, { ...range, dry_run: true });
  return ((await response.json()) as BackfillResult).occurrences;
}

/** Starts a run for each occurrence in the range; a repeat with the same key starts nothing. */
export async function startBackfill(job: string, range: BackfillRange, idempotencyKey: string): Promise<number> {
  const response = await request(`${jobPath(job)}/backfill`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify(range),
  });
  return ((await response.json()) as BackfillResult).started;
}

/** The number of backfilled runs that wait, and that run. */
export async function openBackfill(job: string, signal: AbortSignal): Promise<{ waiting: number; running: number }> {
  const count = async (state: string): Promise<number> => {
    let found = 0;
    for (let page = 0; ; page += 1) {
      const query = queryOf({ state, page, page_size: PAGE_SIZE });
      const runs = await getJson<JobRun[]>(`${jobPath(job)}/history${query}`, signal);
      found += runs.filter(({ trigger }) => trigger === 'backfill').length;
      if (runs.length < PAGE_SIZE) return found;
    }
  };
  const [waiting, running] = await Promise.all([count('Queued'), count('Running')]);
  return { waiting, running };
}
