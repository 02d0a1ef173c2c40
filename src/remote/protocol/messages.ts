import type { JsonObject, JsonValue } from '../../domain/json.ts';
import type { RemoteCode } from './codes.ts';

export const PROTOCOLS = ['grpc', 'xmlrpc', 'tcp'] as const;
export type Protocol = (typeof PROTOCOLS)[number];
/** Where a request came in: one of the protocols, or the HTTP listener beside them. */
export type Ingress = Protocol | 'http';

/** What can be asked of an executor. */
export const REMOTE_METHODS = ['submit', 'poll', 'cancel', 'ack', 'events', 'event', 'status'] as const;
export type RemoteMethod = (typeof REMOTE_METHODS)[number];

/** Payloads of requests, by method: each is one JSON object in UTF-8. */
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
  /** `sync`, the default: the answer is the task's outcome. `async`: it is the correlation id, and the outcome is polled for. */
  mode?: 'sync' | 'async';
  /** A repeat with the same key, of the same client, gets the first one's task. 1 to 200 characters. */
  idempotency_key?: string;
  /** Seconds from start to end; at most what the executor and the event allow. */
  timeout_secs?: number;
  /** Milliseconds since the epoch after which the task need not be started any more. */
  deadline_ms?: number;
}

export interface PollRequest {
  correlation_id: string;
  /** Seconds to wait for the end, 0 to 30; 0 by default. */
  wait_secs?: number;
}

/** One of the two; a key names the task that was submitted with it. */
export interface CancelRequest {
  correlation_id?: string;
  idempotency_key?: string;
}

export interface AckRequest {
  /** At most 1,000. Those that are not known, not the caller's or not over are left out of the answer. */
  correlation_ids: string[];
}

/** Payloads of answers. */
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
  /** Empty where no task came of the request. */
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

/** Of a task that is not over. */
export interface PendingResponse {
  correlation_id: string;
  status: 'pending' | 'running';
  event_name: string;
  created_at: string;
  expires_at: string;
  /** What the event said last; absent where it said nothing. */
  progress?: TaskProgress;
}

export interface TaskProgress {
  /** 0 to 1; absent where the event does not know. */
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
  /** Whether this caller could submit it. */
  exists: boolean;
}

export interface EventSummary {
  event_name: string;
  /** Of its code, as pinned. */
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
  /** Of this caller, newest first, at most 50. */
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

/** How strongly a task is kept apart, weakest first. */
export const TIERS = ['pooled', 'process', 'jail', 'container'] as const;
export type Tier = (typeof TIERS)[number];
