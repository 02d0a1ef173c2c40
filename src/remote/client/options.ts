import type { JsonValue } from '../../domain/json.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Random } from '../../runtime/random.ts';
import type { RemoteFailure } from '../protocol/codes.ts';
import type { PendingResponse, StatusResponse, SuccessResponse, TaskProgress } from '../protocol/messages.ts';
import type { ClientCredentials } from '../security/client-credentials.ts';
import type { ClientTls, ClientTransport, Endpoint } from './port.ts';

/** Paths of PEM files; they are read again when they change. */
export interface ClientTlsFiles {
  readonly caFile: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** The name to expect in the certificate; the endpoint's host by default. */
  readonly servername?: string;
}

export type OpenTransport = (
  endpoint: Endpoint,
  tls: ClientTls | null,
  clock: Clock,
) => ClientTransport | Promise<ClientTransport>;

export interface RemoteExecutorOptions {
  /**
   * Executors that can stand in for each other: `grpc://HOST:PORT`, `xmlrpc://HOST:PORT`, `tcp://HOST:PORT`; on
   * loopback also without TLS, as `grpc+plain://…`.
   */
  readonly endpoints: readonly string[];
  /** The path of a client file, read again when it changes; or what stands in one. */
  readonly credentials: string | ClientCredentials;
  /** Needed for every endpoint with TLS. */
  readonly tls?: ClientTls | ClientTlsFiles;
  /** A bearer token, or how to get one; asked for each call. */
  readonly token?: string | (() => string | Promise<string>);
  /** How often the health of the endpoints is asked for, 5,000 by default; 0: only when one of them has failed. */
  readonly healthIntervalMs?: number;
  /**
   * How long a submission is repeated that may have arrived, counted from its first try; 300 by default. It must be
   * shorter than the executor remembers idempotency keys (600 by default), or a task could run twice.
   */
  readonly retryWindowSecs?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Silent by default. */
  readonly log?: Logger;
  /** Opens connections; by default by the protocol of the endpoint. */
  readonly openTransport?: OpenTransport;
}

export interface CallLimits {
  /** Ends the call; a submission under way is then canceled at the executor. */
  readonly signal?: AbortSignal;
  /** Seconds after which the call is given up, and a submission canceled; none by default. */
  readonly deadlineSecs?: number;
}

export interface SubmitOptions extends CallLimits {
  /** Repeats with the same key, by whomever, get the first one's task. Made by the client where absent. */
  readonly idempotencyKey?: string;
  /** Seconds that the task may run; at most what the executor and the event allow. */
  readonly timeoutSecs?: number;
  /** W3C trace context to continue. */
  readonly traceparent?: string | null;
  /** Called when the event has said how far it is. */
  readonly onProgress?: (progress: TaskProgress) => void;
  /** Called before the executors are asked once more: for a task that they did not take, or whose end is waited for. */
  readonly onRetry?: (retry: RetryNotice) => void;
  /**
   * When the executor may forget the outcome: `now`, the default, once it is here; `later`, a minute after that; `never`:
   * it keeps it until its time is up.
   */
  readonly acknowledge?: 'now' | 'later' | 'never';
}

export interface RetryNotice {
  /** The URL of the endpoint that was asked. */
  readonly endpoint: string;
  readonly error: unknown;
  /** Before the next try. */
  readonly waitMs: number;
}

/** A task as others name it: by its correlation id, or by the key that it was submitted with. */
export interface TaskReference {
  readonly correlationId?: string;
  readonly idempotencyKey?: string;
  /** The URL of the endpoint that has it; all are asked where it is not known. */
  readonly endpoint?: string;
}

/** Where a task stands. What its failure was is thrown instead, as RemoteFailure. */
export type TaskAnswer = PendingResponse | SuccessResponse;

/** What became of a task that was to be canceled: one that was over already keeps its outcome. */
export type CancelAnswer =
  | { readonly state: 'canceled' | 'canceling'; readonly correlationId: string }
  | { readonly state: 'succeeded'; readonly correlationId: string; readonly result: JsonValue }
  | { readonly state: 'failed'; readonly correlationId: string; readonly failure: RemoteFailure };

/** A task that was accepted. */
export interface RemoteTask {
  readonly correlationId: string;
  readonly idempotencyKey: string;
  /** The URL of the endpoint that has it. */
  readonly endpoint: string;
  /** Waits for its end. @throws RemoteFailure how it failed */
  result(options?: CallLimits & Pick<SubmitOptions, 'onProgress' | 'onRetry'>): Promise<JsonValue>;
  /** Where it stands. @throws RemoteFailure how it failed */
  poll(options?: CallLimits & { readonly waitSecs?: number }): Promise<TaskAnswer>;
  cancel(options?: CallLimits): Promise<CancelAnswer>;
}

/** What is known of one endpoint. Times are milliseconds since the epoch. */
export interface EndpointState {
  readonly endpoint: string;
  /** `unknown` before the first answer; `unreachable` once calls fail; else as the executor says of itself. */
  readonly state: 'unknown' | 'healthy' | 'degraded' | 'draining' | 'unreachable';
  /** Calls of this client that have no answer yet. */
  readonly in_flight: number;
  readonly answered_at: number | null;
  readonly last_error: { readonly at: number; readonly message: string } | null;
  /** How far the executor's clock is ahead of this one, milliseconds; null before the first answer. */
  readonly clock_offset_ms: number | null;
  /** What it last said of itself. */
  readonly status: StatusResponse | null;
}
