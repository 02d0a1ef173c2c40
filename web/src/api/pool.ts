import { getJson, request, segment } from './client.ts';

export const RUNNER_STATES = ['created', 'idle', 'claimed', 'running', 'terminated'] as const;
export type RunnerState = (typeof RUNNER_STATES)[number];

/** States that are counted: terminated runners are not. */
export const COUNTED_STATES = ['created', 'idle', 'claimed', 'running'] as const satisfies readonly RunnerState[];
export type CountedState = (typeof COUNTED_STATES)[number];

/** Number of runners in each state, and of runners wanted by waiting requests. */
export type Counts = Record<CountedState | 'waiting', number>;

/** Counts of one class and usage. */
export interface Census extends Counts {
  resource_class: string;
  usage_class: string;
}

/** Times are ISO 8601 strings. */
export interface PoolSummary {
  backend: string;
  provider: string;
  census: readonly Census[];
  parts: readonly { name: string; succeeded_at: string | null; error: string | null }[];
  /** What holds back launches. */
  obstacles: readonly {
    requirements: { resource_class: string; usage_class: string } | null;
    reason: string;
    retry_at: string | null;
  }[];
  settings: { max_runners: number };
}

export interface Sample extends Census {
  at: string;
}

export interface Runner {
  id: string;
  number: number;
  state: RunnerState;
  resource_class: string;
  usage_class: string;
  instance_type: string | null;
  cpu: number;
  memory_mib: number;
  provider: string;
  provider_id: string | null;
  request_id: string | null;
  epoch: number;
  uses: number;
  /** When it terminates or is marked lost. */
  until: string | null;
  created_at: string;
  state_since: string;
  seen_at: string | null;
  address: string | null;
  draining: boolean;
  reason: string | null;
}

export interface PoolRequest {
  id: string;
  state: string;
  requirements: {
    resource_class: string;
    usage_class: string;
    allowed_instance_types: readonly string[];
    cpu: number | null;
    memory_mib: number | null;
    count: number;
  };
  tenant: string;
  source: 'task' | 'holder';
  /** The id of the task, or the name of the holder. */
  run: string;
  attempt: number | null;
  /** For a hold that lost runners: those that it still has. */
  kept: number;
  exhaustion: string | null;
  reason: string | null;
  created_at: string;
  granted_at: string | null;
  expires_at: string | null;
}

interface PageQuery {
  page: number;
  pageSize: number;
}

function searchOf({ page, pageSize }: PageQuery, values: Readonly<Record<string, string | null>>): URLSearchParams {
  const search = new URLSearchParams({ page: String(page), page_size: String(pageSize) });
  for (const [name, value] of Object.entries(values)) if (value !== null) search.set(name, value);
  return search;
}

export function getPool(signal?: AbortSignal): Promise<PoolSummary> {
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
