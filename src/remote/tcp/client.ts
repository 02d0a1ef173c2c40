import type { Clock } from '../../runtime/clock.ts';
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
  /** Until a connection stands, TLS included; 10,000 by default. */
  readonly connect_ms?: number;
  /** More are opened as calls wait; 16 by default. */
  readonly connections_max?: number;
  /** Largest answer, bytes; 64 MiB by default. */
  readonly frame_bytes_max?: number;
}

const CONNECTIONS_MAX = 16;
/**
 * Of the requests that an executor takes on one connection at once, some are kept for those that are answered at once:
 * tasks that run for hours must not keep their own cancellation from being heard.
 */
const LONG_CALLS_MAX = 48;
const CALLS_MAX = TCP_LIMITS.in_flight_max;

/** Connections are made when called for, kept, and made anew when they are lost. @param tls null on loopback only */
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
  /** Calls that no connection has room for: those that may take long, and those that do not. */
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
      return Promise.reject(new TransportFailure('the call was given up', false, options.signal.reason));
    if (request.payload.length + HEADER_BYTES_MAX + PREFIX_BYTES > TCP_LIMITS.frame_bytes_max)
      return Promise.reject(malformed(`payload: has ${request.payload.length} bytes, more than a frame carries`));
    const call = new Call(request, options, (given) => this.#giveUp(given));
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

  #giveUp(call: Call): void {
    const reason: unknown = call.options.signal.reason;
    if (this.#long.delete(call) || this.#short.delete(call)) {
      call.reject(new TransportFailure('the call was given up', false, reason));
    } else {
      for (const connection of this.#connections) if (connection.abandon(call, reason)) return;
    }
  }

  /** Gives calls that wait to connections with room, and makes one more where there is none. */
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
        // With a connection left, what waits gets its turn there.
        if (this.#connections.size === 0) this.#rejectWaiting(error as Error);
      },
    );
  }

  #onRoom(connection: ClientConnection): void {
    if (connection.isOver) this.#connections.delete(connection);
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

/** Answered when a task is over, or when a wait is. */
function isLong({ method }: SignedRequest): boolean {
  return method === 'submit' || method === 'poll';
}
