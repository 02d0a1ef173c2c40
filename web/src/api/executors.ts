import { getJson } from './client.ts';

export type ExecutorState = 'unknown' | 'healthy' | 'degraded' | 'draining' | 'unreachable';

/** A task as reported by its executor. */
export interface RecentTask {
  correlation_id: string;
  event_name: string;
  status: string;
  /** Why it failed. */
  code: string | null;
  created_at: string;
  duration_ms: number | null;
}

/** One endpoint to which the server sends remote events. Times are ISO 8601 strings. */
export interface Executor {
  /** The name that tasks use. */
  executor: string;
  endpoint: string;
  state: ExecutorState;
  /** Pending calls of the server. */
  in_flight: number;
  answered_at: string | null;
  last_error: { at: string; message: string } | null;
  clock_offset_ms: number | null;
  /** Its last reported status; null before the first one. */
  status: {
    version: string;
    tier: string;
    workers: number;
    busy: number;
    queue_depth: number;
    max_pending_tasks: number;
    uptime_seconds: number;
    recent: readonly RecentTask[];
  } | null;
}

export function listExecutors(signal?: AbortSignal): Promise<Executor[]> {
  return getJson('/v1/executors', signal);
}
