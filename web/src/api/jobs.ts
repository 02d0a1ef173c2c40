import { getJson, request, segment } from './client.ts';

/** A workflow on a schedule. Times are ISO 8601 strings. */
export interface Job {
  id: string;
  name: string;
  cron: string;
  time_zone: string;
  /** Remaining number of runs; null: unlimited. */
  recurrence: number | null;
  overlap: 'skip' | 'queue' | 'allow';
  catch_up: 'skip' | 'once' | 'all';
  paused: boolean;
  paused_reason: string | null;
  next_run_at: string | null;
  /** The latest entry of its history. */
  last_run: JobRun | null;
}

export interface Occurrence {
  at: string;
  /** The same time in the time zone of the job, with its offset. */
  local: string;
}

export interface JobRun {
  id: string;
  trigger: 'schedule' | 'manual';
  scheduled_for: string;
  state: string;
  reason: string | null;
  workflow_id: string | null;
  started_at: string | null;
  completed_at: string | null;
  /** Tasks of its workflow by state, at its end. */
  task_counts: Record<string, number> | null;
}

export interface PageQuery {
  page: number;
  pageSize: number;
}

function pageSearch({ page, pageSize }: PageQuery): URLSearchParams {
  return new URLSearchParams({ page: String(page), page_size: String(pageSize) });
}

export function listJobs(query: PageQuery, signal?: AbortSignal): Promise<Job[]> {
  return getJson(`/v1/jobs?${pageSearch(query)}`, signal);
}

export function nextRuns(job: string, count: number, signal?: AbortSignal): Promise<Occurrence[]> {
  return getJson(`/v1/jobs/${segment(job)}/next?count=${count}`, signal);
}

/** The outcome of its occurrences, latest first. */
export function jobHistory(job: string, query: PageQuery, signal?: AbortSignal): Promise<JobRun[]> {
  return getJson(`/v1/jobs/${segment(job)}/history?${pageSearch(query)}`, signal);
}

export async function operateJob(job: string, operation: 'pause' | 'resume'): Promise<void> {
  await request(`/v1/jobs/${segment(job)}/${operation}`, { method: 'POST' });
}

/** Starts a job now; throws an ApiError if its overlap policy does not allow another run. */
export async function triggerJob(job: string): Promise<JobRun> {
  const response = await request(`/v1/jobs/${segment(job)}/trigger`, { method: 'POST' });
  return (await response.json()) as JobRun;
}
