import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import type { Registry } from 'prom-client';

import { addressOf, Connections } from '../connections.ts';
import {
  type Listener,
  type ListenerOptions,
  type ListenerTls,
  listenOn,
  peerCertificateOf,
  requireSafeBind,
  requireSameClientAuth,
  secureContextOptions,
  startSweep,
  tlsServerOptions,
} from '../listener.ts';
import { HTTP_LIMITS, type HttpLimits } from './limits.ts';
import { answerRequest, send, type RouteSurroundings } from './routes.ts';

export { HTTP_LIMITS, type HttpLimits } from './limits.ts';

export interface HttpListenerOptions extends ListenerOptions<HttpLimits> {
  /** What `GET /metrics` shows. */
  readonly registry: Registry;
}

const CHECK_MS_MAX = 1_000;
/** How often idle connections are looked for while the last requests end. */
const DRAIN_CHECK_MS = 50;
/** Longest that a poll may wait in the manager, which is no stall of its connection. */
const POLL_WAIT_MS_MAX = 30_000;

/** Listens for `POST /poll/{id}`, `GET /healthz` and `GET /metrics`. @throws Error as the other listeners do */
export async function openHttpListener(options: HttpListenerOptions): Promise<Listener> {
  requireSafeBind('http', options.host, options.tls);
  const listener = new HttpListener(options);
  await listener.open();
  return listener;
}

interface Connection {
  readonly around: RouteSurroundings;
  inFlight: number;
}

class HttpListener implements Listener {
  readonly protocol = 'http';
  address: Listener['address'] = { host: '', port: 0 };
  readonly #options: HttpListenerOptions;
  readonly #limits: HttpLimits;
  readonly #server: Server | TlsServer;
  readonly #sockets: Connections;
  readonly #connections = new WeakMap<Socket, Connection>();
  #tls: ListenerTls | null;
  #draining = false;

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#limits = { ...HTTP_LIMITS, ...options.limits };
    this.#tls = options.tls;
    this.#sockets = new Connections(this.#limits);
    const http = httpOptions(this.#limits);
    this.#server =
      options.tls === null
        ? createServer(http)
        : createTlsServer({ ...http, ...tlsServerOptions(options.tls, this.#limits.tls_handshake_ms) });
    this.#server.prependListener('connection', (socket: Socket) => void this.#sockets.admit(socket));
    this.#server.on('request', (request, response) => this.#onRequest(request, response));
    // Nothing is said over a connection for long: whoever is at the other end has stopped reading.
    this.#server.setTimeout(this.#limits.output_ms + POLL_WAIT_MS_MAX, (socket: Socket) => socket.destroy());
  }

  async open(): Promise<void> {
    const { host, port, log } = this.#options;
    this.address = await listenOn(this.protocol, this.#server, host, port, this.#tls);
    this.#server.on('error', (error: Error) => log.error({ err: error, listener: 'http' }, 'the listener failed'));
  }

  reloadTls(tls: ListenerTls): void {
    requireSameClientAuth(this.#tls, tls);
    (this.#server as TlsServer).setSecureContext(secureContextOptions(tls));
    this.#tls = tls;
  }

  async close(drainMs: number): Promise<void> {
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const cancel = this.#options.clock.after(drainMs, () => this.#sockets.destroyAll());
    // A connection may become idle between two requests of its own, after the server closed those that were.
    const stopClosing = startSweep(this.#options.clock, [DRAIN_CHECK_MS], () => this.#server.closeIdleConnections());
    await closed;
    cancel();
    stopClosing();
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connectionOf(request.socket);
    if (this.#draining) response.shouldKeepAlive = false;
    if (connection.inFlight >= this.#limits.in_flight_max) {
      request.socket.destroy();
      return;
    }
    connection.inFlight += 1;
    response.once('close', () => (connection.inFlight -= 1));
    // One for each request: the connection outlives a caller who gives up a poll.
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the caller has gone')));
    answerRequest(request, response, { ...connection.around, signal: gone.signal }).catch((error: unknown) => {
      // A request that broke off is the caller's affair, and there is nobody left to tell.
      if (request.destroyed && !request.complete) return;
      this.#options.log.error({ err: error, listener: 'http' }, 'a request could not be answered');
      send(response, 500, {}, Buffer.from('the executor failed; its log names the reason\n'));
    });
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const { manager, registry, clock } = this.#options;
    const around: RouteSurroundings = {
      manager,
      registry,
      clock,
      bodyBytesMax: this.#limits.body_bytes_max,
      peer: socket instanceof TLSSocket ? peerCertificateOf(socket) : null,
      remoteAddress: addressOf(socket),
      signal: new AbortController().signal,
      onProven: () => this.#sockets.markProven(socket),
    };
    const connection: Connection = { around, inFlight: 0 };
    this.#connections.set(socket, connection);
    return connection;
  }
}

/** Node's own deadlines and caps of HTTP; nothing of it is lenient. */
function httpOptions(limits: HttpLimits): ServerOptions {
  return {
    maxHeaderSize: limits.header_bytes_max,
    headersTimeout: limits.header_ms,
    requestTimeout: limits.header_ms + limits.body_ms,
    keepAliveTimeout: limits.idle_ms,
    connectionsCheckingInterval: Math.min(CHECK_MS_MAX, limits.header_ms),
    insecureHTTPParser: false,
    requireHostHeader: true,
    noDelay: true,
  };
}
