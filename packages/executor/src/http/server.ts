import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import type { Registry } from 'prom-client';

import { addressOf } from '../connections.ts';
import { BoundedHttpServer, CROSS_ORIGIN_MESSAGE } from '../http-server.ts';
import {
  type Listener,
  type ListenerOptions,
  type ListenerTls,
  peerCertificateOf,
  requireSafeBind,
} from '../listener.ts';
import { HTTP_LIMITS, type HttpLimits } from './limits.ts';
import { UNITS } from '../unproven-queue.ts';
import { answerRequest, send, type RouteContext } from './routes.ts';

export interface HttpListenerOptions extends ListenerOptions<HttpLimits> {
  /** Metrics shown by `GET /metrics`. */
  readonly registry: Registry;
  /** Allowed `Host` names without TLS, in addition to loopback names. */
  readonly allowedHosts?: readonly string[];
}

/** Longest wait of a poll in the manager, which does not count as a stalled connection. */
const POLL_WAIT_MS_MAX = 30_000;

/** Opens a listener for `POST /poll/{id}`, `GET /healthz` and `GET /metrics`. @throws Error like the other listeners */
export async function openHttpListener(options: HttpListenerOptions): Promise<Listener> {
  requireSafeBind('http', options.host, options.tls);
  const listener = new HttpListener(options);
  await listener.open();
  return listener;
}

interface Connection {
  readonly context: RouteContext;
  inFlight: number;
}

class HttpListener implements Listener {
  readonly protocol = 'http';
  address: Listener['address'] = { host: '', port: 0 };
  readonly #options: HttpListenerOptions;
  readonly #limits: HttpLimits;
  readonly #http: BoundedHttpServer;
  readonly #connections = new WeakMap<Socket, Connection>();

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#limits = { ...HTTP_LIMITS, ...options.limits };
    const { tls, unproven, clock, log, allowedHosts } = options;
    const bounds = { limits: this.#limits, headerBytesMax: this.#limits.header_bytes_max, requireHostHeader: true };
    this.#http = new BoundedHttpServer({
      protocol: this.protocol,
      tls,
      ...bounds,
      allowedHosts,
      unproven,
      clock,
      log,
    });
    this.#http.server.on('request', (request, response) => this.#onRequest(request, response));
    // A connection without traffic for this long belongs to a peer that stopped reading.
    this.#http.server.setTimeout(this.#limits.output_ms + POLL_WAIT_MS_MAX, (socket: Socket) => socket.destroy());
  }

  async open(): Promise<void> {
    this.address = await this.#http.listen(this.#options.host, this.#options.port);
  }

  reloadTls(tls: ListenerTls): void {
    this.#http.reloadTls(tls);
  }

  close(drainMs: number): Promise<void> {
    return this.#http.close(drainMs);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connectionOf(request.socket);
    if (this.#http.isDraining) response.shouldKeepAlive = false;
    if (connection.inFlight >= this.#limits.in_flight_max) {
      request.socket.destroy();
      return;
    }
    if (this.#http.isCrossSite(request)) {
      response.shouldKeepAlive = false;
      send(response, 403, {}, Buffer.from(`${CROSS_ORIGIN_MESSAGE}\n`));
      return;
    }
    connection.inFlight += 1;
    response.once('close', () => (connection.inFlight -= 1));
    // One per request, because the connection survives an abandoned poll.
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the caller disconnected')));
    this.#http.sockets.enter(request.socket, UNITS.request, () => {
      if (!request.socket.destroyed) this.#answer(request, response, { ...connection.context, signal: gone.signal });
    });
  }

  #answer(request: IncomingMessage, response: ServerResponse, context: RouteContext): void {
    answerRequest(request, response, context).catch((error: unknown) => {
      // The caller disconnected, so no response can be sent.
      if (request.destroyed && !request.complete) return;
      this.#options.log.error({ err: error, listener: 'http' }, 'could not handle a request');
      send(response, 500, {}, Buffer.from('the executor failed; see its log\n'));
    });
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const { manager, registry, clock } = this.#options;
    const context: RouteContext = {
      manager,
      registry,
      clock,
      bodyBytesMax: this.#limits.body_bytes_max,
      peer: socket instanceof TLSSocket ? peerCertificateOf(socket) : null,
      remoteAddress: addressOf(socket),
      signal: new AbortController().signal,
      onProven: () => this.#http.sockets.markProven(socket),
      share: this.#http.sockets.shareOf(socket, () => socket.destroy()),
    };
    const connection: Connection = { context, inFlight: 0 };
    this.#connections.set(socket, connection);
    return connection;
  }
}
