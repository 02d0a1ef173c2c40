import { getJson } from './client.ts';

export const EXECUTOR_STATES = ['unknown', 'healthy', 'degraded', 'draining', 'unreachable'] as const;
export type ExecutorState = (typeof EXECUTOR_STATES)[number];

/** A task as its executor tells it. */
export interface RecentTask {
  correlation_id: string;
  event_name: string;
  status: string;
  /** Why it failed. */
  code: string | null;
  created_at: string;
  duration_ms: number | null;
}

/** One endpoint that the server sends remote events to. Times are ISO 8601 text. */
export interface Executor {
  /** What tasks name it by. */
  executor: string;
  endpoint: string;
  state: ExecutorState;
  /** Calls of the server without an answer. */
  in_flight: number;
  answered_at: string | null;
  last_error: { at: string; message: string } | null;
  clock_offset_ms: number | null;
  /** What it last said of itself; null where it never did. */
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
