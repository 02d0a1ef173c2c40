import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { addressOf } from '../connections.ts';
import { BoundedHttpServer, CROSS_ORIGIN_MESSAGE } from '../http-server.ts';
import {
  type Listener,
  type ListenerOptions,
  type ListenerTls,
  peerCertificateOf,
  requireSafeBind,
  startSweep,
} from '../listener.ts';
import type { RemoteManager } from '../manager/port.ts';
import { UNITS } from '../unproven-queue.ts';
import { exchange, type ExchangeContext, refuse } from './exchange.ts';
import { XMLRPC_LIMITS, type XmlRpcLimits } from './limits.ts';

export interface XmlRpcListenerOptions extends ListenerOptions<XmlRpcLimits> {
  /** Allowed `Host` names without TLS, in addition to loopback names. */
  readonly allowedHosts?: readonly string[];
}

/** Opens a listener for `POST /RPC2`. @throws Error if it cannot listen, or if TLS is missing beyond loopback */
export async function openXmlRpcListener(options: XmlRpcListenerOptions): Promise<Listener> {
  requireSafeBind('xmlrpc', options.host, options.tls);
  const listener = new XmlRpcListener(options);
  await listener.open(options);
  return listener;
}

const HEADER_BYTES_MAX = 16 * 1024;

/** State of one connection. */
interface Connection {
  readonly context: ExchangeContext;
  /** Aborts when the connection is gone. */
  readonly gone: AbortController;
  inFlight: number;
  /** Whether its last response has been sent. */
  ending: boolean;
  /** Whether a request was rejected on arrival: earlier ones are answered, later ones ignored. */
  refused: boolean;
  /** Responses written but not yet taken, with their monotonic time. */
  readonly untaken: Map<ServerResponse, number>;
}

class XmlRpcListener implements Listener {
  readonly protocol = 'xmlrpc';
  address: Listener['address'] = { host: '', port: 0 };
  readonly #http: BoundedHttpServer;
  readonly #manager: RemoteManager;
  readonly #limits: XmlRpcLimits;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #connections = new Map<Socket, Connection>();
  #partialBytes = 0;
  #stopSweep: () => void = () => undefined;

  constructor({ manager, tls, limits, allowedHosts, unproven, clock, log }: XmlRpcListenerOptions) {
    this.#manager = manager;
    this.#limits = { ...XMLRPC_LIMITS, ...limits };
    this.#clock = clock;
    this.#log = log.child({ listener: 'xmlrpc' });
    this.#http = new BoundedHttpServer({
      protocol: this.protocol,
      tls,
      limits: this.#limits,
      headerBytesMax: HEADER_BYTES_MAX,
      // Checked here, because Node would still handle pipelined requests.
      requireHostHeader: false,
      allowedHosts,
      unproven,
      clock,
      log,
    });
    this.#http.server.on('request', (request, response) => this.#onRequest(request, response));
  }

  async open({ host, port }: XmlRpcListenerOptions): Promise<void> {
    this.address = await this.#http.listen(host, port);
    this.#stopSweep = startSweep(this.#clock, [this.#limits.output_ms], (nowMs) => this.#sweep(nowMs));
  }

  reloadTls(tls: ListenerTls): void {
    this.#http.reloadTls(tls);
  }

  async close(drainMs: number): Promise<void> {
    await this.#http.close(drainMs);
    this.#stopSweep();
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connectionOf(request.socket);
    if (connection.ending || connection.refused) {
      request.resume();
      return;
    }
    if (this.#http.isDraining) response.shouldKeepAlive = false;
    if (connection.inFlight >= this.#limits.in_flight_max) {
      connection.refused = true;
      refuse(request, response, { status: 503, text: 'too many unanswered requests on this connection' });
      return;
    }
    if (request.headers.host !== undefined && this.#http.isCrossSite(request)) {
      connection.refused = true;
      refuse(request, response, { status: 403, text: CROSS_ORIGIN_MESSAGE });
      return;
    }
    connection.inFlight += 1;
    response.once('close', () => {
      connection.inFlight -= 1;
      connection.untaken.delete(response);
    });
    const { socket } = request;
    this.#http.sockets.enter(socket, UNITS.request, () => {
      if (socket.destroyed) return;
      if (connection.ending) request.resume();
      else this.#exchange(request, response, connection);
    });
  }

  #exchange(request: IncomingMessage, response: ServerResponse, connection: Connection): void {
    exchange(request, response, connection.context, connection.gone.signal).then(
      () => this.#afterAnswer(request.socket, connection, response),
      (error: unknown) => this.#log.error({ err: error }, 'could not handle a request'),
    );
  }

  #afterAnswer(socket: Socket, connection: Connection, response: ServerResponse): void {
    if (response.closed) return;
    if (this.#http.isDraining) response.shouldKeepAlive = false;
    connection.untaken.set(response, this.#clock.monotonic());
    // A single response may exceed the limit; several unread ones may not.
    const over = socket.writableLength > this.#limits.output_bytes_max;
    if (over && connection.untaken.size > 1) socket.destroy();
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const gone = new AbortController();
    const context: ExchangeContext = {
      manager: this.#manager,
      documentBytesMax: this.#limits.document_bytes_max,
      peer: socket instanceof TLSSocket ? peerCertificateOf(socket) : null,
      remoteAddress: addressOf(socket),
      onPartial: (delta) => {
        this.#partialBytes += delta;
        return this.#partialBytes <= this.#limits.partial_bytes_max;
      },
      enter: (run) => this.#http.sockets.enter(socket, UNITS.piece, run),
      share: this.#http.sockets.shareOf(socket, () => context.refuseUnfinished?.()),
      refuseUnfinished: null,
      onProven: () => this.#http.sockets.markProven(socket),
      onLast: () => (connection.ending = true),
    };
    const connection: Connection = {
      context,
      gone,
      inFlight: 0,
      ending: false,
      refused: false,
      untaken: new Map<ServerResponse, number>(),
    };
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      this.#connections.delete(socket);
      gone.abort();
    });
    return connection;
  }

  #sweep(nowMs: number): void {
    for (const [socket, { untaken }] of this.#connections) {
      for (const since of untaken.values()) if (nowMs - since > this.#limits.output_ms) socket.destroy();
    }
  }
}
