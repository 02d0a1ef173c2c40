import type { Job, JobRun, Occurrence } from '@heddle/client';
import { getJson, request, segment } from './client.ts';

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
