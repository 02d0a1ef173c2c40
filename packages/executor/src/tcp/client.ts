import type { Clock } from '@heddle/base/clock';
import {
  type CallOptions,
  type ClientTls,
  type ClientTransport,
  type Endpoint,
  TransportFailure,
} from '../client/port.ts';
import { CONNECT_MS, connectTo, requireSafeEndpoint } from '../connect.ts';
import { ANSWER_BYTES_MAX } from '../listener.ts';
import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import { malformed } from '../protocol/refusal.ts';
import { Call } from './call.ts';
import { ClientConnection } from './client-connection.ts';
import { HEADER_BYTES_MAX, PREFIX_BYTES } from './frames.ts';
import { TCP_LIMITS } from './limits.ts';

export interface TcpTransportOptions {
  readonly clock: Clock;
  /** Timeout for a connection, including TLS, ms; default 10,000. */
  readonly connect_ms?: number;
  /** Maximum connections, opened as needed; default 16. */
  readonly connections_max?: number;
  /** Largest response, bytes; default 64 MiB. */
  readonly frame_bytes_max?: number;
}

const CONNECTIONS_MAX = 16;
/**
 * Concurrent requests per connection. Some are reserved for short calls, so that long-running tasks do not block their
 * own cancellation.
 */
const LONG_CALLS_MAX = 48;
const CALLS_MAX = TCP_LIMITS.in_flight_max;

/**
 * Opens a transport that connects on demand, keeps its connections, and reconnects when they are lost. @param tls null
 * only on loopback
 */
export function openTcpTransport(
  endpoint: Endpoint,
  tls: ClientTls | null,
  options: TcpTransportOptions,
): ClientTransport {
  requireSafeEndpoint(endpoint, tls);
  return new TcpTransport(endpoint, tls, options);
}

class TcpTransport implements ClientTransport {
  readonly endpoint: Endpoint;
  readonly #tls: ClientTls | null;
  readonly #clock: Clock;
  readonly #connectMs: number;
  readonly #connectionsMax: number;
  readonly #frameBytesMax: number;
  readonly #connections = new Set<ClientConnection>();
  /** Calls waiting for a connection: potentially long ones, and short ones. */
  readonly #long = new Set<Call>();
  readonly #short = new Set<Call>();
  #connecting: Promise<void> | null = null;
  #closed = false;

  constructor(endpoint: Endpoint, tls: ClientTls | null, options: TcpTransportOptions) {
    this.endpoint = endpoint;
    this.#tls = tls;
    this.#clock = options.clock;
    this.#connectMs = options.connect_ms ?? CONNECT_MS;
    this.#connectionsMax = options.connections_max ?? CONNECTIONS_MAX;
    this.#frameBytesMax = options.frame_bytes_max ?? ANSWER_BYTES_MAX;
  }

  call(request: SignedRequest, options: CallOptions): Promise<SignedResponse> {
    if (this.#closed) return Promise.reject(new TransportFailure('the transport is closed', false));
    if (options.signal.aborted)
      return Promise.reject(new TransportFailure('the call was aborted', false, options.signal.reason));
    if (request.payload.length + HEADER_BYTES_MAX + PREFIX_BYTES > TCP_LIMITS.frame_bytes_max)
      return Promise.reject(malformed(`payload: has ${request.payload.length} bytes, more than fit into a frame`));
    const call = new Call(request, options, (given) => this.#abandon(given));
    (isLong(request) ? this.#long : this.#short).add(call);
    this.#dispatch();
    return call.answer;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#rejectWaiting(new TransportFailure('the transport was closed', false));
    for (const connection of [...this.#connections]) connection.destroy();
    await this.#connecting;
  }

  #abandon(call: Call): void {
    const reason: unknown = call.options.signal.reason;
    if (this.#long.delete(call) || this.#short.delete(call)) {
      call.reject(new TransportFailure('the call was aborted', false, reason));
    } else {
      for (const connection of this.#connections) if (connection.abandon(call, reason)) return;
    }
  }

  /** Assigns waiting calls to connections, and opens another one if needed. */
  #dispatch(): void {
    this.#dispatchOf(this.#short, CALLS_MAX);
    this.#dispatchOf(this.#long, LONG_CALLS_MAX);
    const wanting = this.#short.size + this.#long.size > 0;
    if (wanting && this.#connecting === null && this.#connections.size < this.#connectionsMax) this.#connect();
  }

  #dispatchOf(waiting: Set<Call>, inFlightMax: number): void {
    for (const call of waiting) {
      const connection = this.#leastBusy();
      if (connection === null || connection.inFlight >= inFlightMax) return;
      waiting.delete(call);
      connection.send(call);
    }
  }

  #leastBusy(): ClientConnection | null {
    let found: ClientConnection | null = null;
    for (const connection of this.#connections)
      if (connection.isOpen && connection.inFlight < (found?.inFlight ?? Infinity)) found = connection;
    return found;
  }

  #connect(): void {
    this.#connecting = connectTo(this.endpoint, this.#tls, { clock: this.#clock, connectMs: this.#connectMs }).then(
      (socket) => {
        this.#connecting = null;
        const connection = new ClientConnection(socket, this.#frameBytesMax, () => this.#onRoom(connection));
        if (this.#closed) connection.destroy();
        else this.#connections.add(connection);
        this.#dispatch();
      },
      (error: unknown) => {
        this.#connecting = null;
        // If a connection is left, waiting calls will use it.
        if (this.#connections.size === 0) this.#rejectWaiting(error as Error);
      },
    );
  }

  #onRoom(connection: ClientConnection): void {
    if (connection.isEnded) this.#connections.delete(connection);
    if (!this.#closed && (this.#short.size > 0 || this.#long.size > 0)) this.#dispatch();
  }

  #rejectWaiting(error: Error): void {
    for (const waiting of [this.#short, this.#long]) {
      const calls = [...waiting];
      waiting.clear();
      for (const call of calls) call.reject(error);
    }
  }
}

/** Returns whether the response may have to wait for a task. */
function isLong({ method }: SignedRequest): boolean {
  return method === 'submit' || method === 'poll';
}
