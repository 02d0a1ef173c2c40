import type { Home, RunDetail, RunGrid, RunList, RunNameList, Timeline } from '@heddle/client';
import { queryOf } from '../data/filters.ts';
import { getJson, segment } from './client.ts';

const RUNS_PER_PAGE = 50;
const GRID_RUNS = 25;

export function getHome(signal: AbortSignal): Promise<Home> {
  return getJson('/v1/home', signal);
}

export function listRuns(
  filters: Readonly<Record<string, string>>,
  after: string | null,
  signal: AbortSignal,
): Promise<RunList> {
  return getJson(`/v1/runs${queryOf({ ...filters, after, page_size: RUNS_PER_PAGE })}`, signal);
}

export function listRunNames(q: string, after: string | null, signal: AbortSignal): Promise<RunNameList> {
  return getJson(`/v1/runs/names${queryOf({ q, after, page_size: 25 })}`, signal);
}

export function getRun(id: string, signal: AbortSignal): Promise<RunDetail> {
  return getJson(`/v1/runs/${segment(id)}`, signal);
}

export function getRunGrid(name: string, signal: AbortSignal): Promise<RunGrid> {
  return getJson(`/v1/runs/grid${queryOf({ name, page_size: GRID_RUNS })}`, signal);
}

export function getTimeline(id: string, signal: AbortSignal): Promise<Timeline> {
  return getJson(`/v1/runs/${segment(id)}/timeline`, signal);
}
