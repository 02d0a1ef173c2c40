import type { Census, Pool, PoolRequest, Runner, Sample } from '@heddle/client';
import { getJson, request, segment } from './client.ts';

export type RunnerState = Runner['state'];

export const RUNNER_STATES = [
  'created',
  'idle',
  'claimed',
  'running',
  'terminated',
] as const satisfies readonly RunnerState[];

/** States that are counted: terminated runners are not. */
export const COUNTED_STATES = ['created', 'idle', 'claimed', 'running'] as const satisfies readonly RunnerState[];
export type CountedState = (typeof COUNTED_STATES)[number];

/** Number of runners in each state, and of runners wanted by waiting requests. */
export type Counts = Pick<Census, CountedState | 'waiting'>;

interface PageQuery {
  page: number;
  pageSize: number;
}

function searchOf({ page, pageSize }: PageQuery, values: Readonly<Record<string, string | null>>): URLSearchParams {
  const search = new URLSearchParams({ page: String(page), page_size: String(pageSize) });
  for (const [name, value] of Object.entries(values)) if (value !== null) search.set(name, value);
  return search;
}

export function getPool(signal?: AbortSignal): Promise<Pool> {
  return getJson('/v1/pool', signal);
}

export function poolHistory(hours: number, signal?: AbortSignal): Promise<Sample[]> {
  return getJson(`/v1/pool/history?hours=${hours}`, signal);
}

export interface RunnerQuery extends PageQuery {
  /** Null: those that have not terminated. */
  state: RunnerState | null;
  resourceClass: string | null;
}

export function listRunners({ state, resourceClass, ...page }: RunnerQuery, signal?: AbortSignal): Promise<Runner[]> {
  return getJson(`/v1/pool/runners?${searchOf(page, { state, resource_class: resourceClass })}`, signal);
}

export function listRequests(
  { state, ...page }: PageQuery & { state: 'waiting' | 'granted' },
  signal?: AbortSignal,
): Promise<PoolRequest[]> {
  return getJson(`/v1/pool/requests?${searchOf(page, { state })}`, signal);
}

export function getRequest(id: string, signal?: AbortSignal): Promise<PoolRequest> {
  return getJson(`/v1/pool/requests/${segment(id)}`, signal);
}

export type RunnerOperation = 'release' | 'drain' | 'terminate';

export async function operateRunner(id: string, operation: RunnerOperation): Promise<void> {
  await request(`/v1/pool/runners/${segment(id)}/${operation}`, { method: 'POST' });
}

/** Ends the request of a holder and releases its runners. */
export async function letGo(id: string): Promise<void> {
  await request(`/v1/pool/requests/${segment(id)}`, { method: 'DELETE' });
}
