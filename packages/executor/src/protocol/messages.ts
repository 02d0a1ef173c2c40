import type { Tier } from '@heddle/kit/event/tier';
import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { RemoteCode } from './codes.ts';

export const PROTOCOLS = ['grpc', 'xmlrpc', 'tcp'] as const;
export type Protocol = (typeof PROTOCOLS)[number];
/** Where a request arrived: one of the protocols, or the HTTP listener. */
export type Ingress = Protocol | 'http';

/** Methods of an executor. */
export const REMOTE_METHODS = ['submit', 'poll', 'cancel', 'ack', 'events', 'event', 'status'] as const;
export type RemoteMethod = (typeof REMOTE_METHODS)[number];

/** Request payloads by method: each is one JSON object in UTF-8. */
export interface RequestPayloads {
  submit: SubmitRequest;
  poll: PollRequest;
  cancel: CancelRequest;
  ack: AckRequest;
  events: Record<string, never>;
  event: { event_name: string };
  status: Record<string, never>;
}

export interface SubmitRequest {
  event_name: string;
  args: JsonObject;
  /**
   * `sync` (default): the response is the task's outcome. `async`: the response is the correlation id, and the outcome
   * is polled.
   */
  mode?: 'sync' | 'async';
  /** Repeats with the same key from the same client return the first task. 1 to 200 characters. */
  idempotency_key?: string;
  /** Task timeout, seconds; capped by the executor and the event. */
  timeout_secs?: number;
  /** Time after which the task need not start, milliseconds since the epoch. */
  deadline_ms?: number;
}

export interface PollRequest {
  correlation_id: string;
  /** Time to wait for the end, seconds, 0 to 30; default 0. */
  wait_secs?: number;
}

/** Has exactly one member; a key names the task that was submitted with it. */
export interface CancelRequest {
  correlation_id?: string;
  idempotency_key?: string;
}

export interface AckRequest {
  /** At most 1,000. Ids that are unknown, of other clients or of unfinished tasks are omitted from the response. */
  correlation_ids: string[];
}

/** Response payloads. */
export type ResponsePayload =
  SuccessResponse | ErrorResponse | PendingResponse | AckResponse | EventsResponse | EventResponse | StatusResponse;

export interface SuccessResponse {
  correlation_id: string;
  status: 'success';
  result: JsonValue;
  /** ISO 8601. */
  completed_at: string;
}

export interface ErrorResponse {
  /** Empty if the request created or named no task. */
  correlation_id: string;
  status: 'error';
  code: RemoteCode;
  message: string;
  /** ISO 8601. */
  timestamp: string;
  details?: readonly string[];
  retry_after_secs?: number;
  available_events?: readonly string[];
}

/** Response for a task that has not ended. */
export interface PendingResponse {
  correlation_id: string;
  status: 'pending' | 'running';
  event_name: string;
  created_at: string;
  expires_at: string;
  /** Latest progress; absent if the event reported none. */
  progress?: TaskProgress;
}

export interface TaskProgress {
  /** 0 to 1; absent if unknown. */
  fraction?: number;
  message?: string;
}

export interface AckResponse {
  status: 'ok';
  acknowledged: string[];
}

export interface EventsResponse {
  status: 'ok';
  events: EventSummary[];
}

export interface EventResponse {
  status: 'ok';
  event_name: string;
  /** Whether this caller may submit it. */
  exists: boolean;
}

export interface EventSummary {
  event_name: string;
  /** Digest of its code, as pinned. */
  digest: string | null;
  source: 'local' | 'npm' | 'git';
  tier: Tier;
  timeout_secs: number;
  memory_mb: number;
}

export interface StatusResponse {
  status: 'healthy' | 'draining' | 'degraded';
  executor: string;
  version: string;
  tier: Tier;
  workers: number;
  busy: number;
  queue_depth: number;
  max_pending_tasks: number;
  uptime_seconds: number;
  /** Recent tasks of this caller, newest first, at most 50. */
  recent: RecentTask[];
}

export interface RecentTask {
  correlation_id: string;
  event_name: string;
  status: 'pending' | 'running' | 'success' | 'error';
  code?: RemoteCode;
  created_at: string;
  duration_ms?: number;
}

export { TIERS, type Tier } from '@heddle/kit/event/tier';
