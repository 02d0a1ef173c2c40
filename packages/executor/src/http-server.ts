import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { isCrossOrigin, KnownHosts } from '@heddle/base/web-origin';
import { Connections, type UnprovenBounds } from './connections.ts';
import {
  type ConnectionLimits,
  type Listener,
  type ListenerTls,
  listenOn,
  requireSameClientAuth,
  secureContextOptions,
  startSweep,
  tlsServerOptions,
} from './listener.ts';
import type { Ingress } from './protocol/messages.ts';

const CHECK_MS_MAX = 1_000;
/** Interval of closing idle connections during a drain. */
const DRAIN_CHECK_MS = 50;

export interface BoundedHttpOptions {
  readonly protocol: Ingress;
  readonly tls: ListenerTls | null;
  readonly limits: ConnectionLimits;
  /** Maximum size of the request line and headers together, bytes. */
  readonly headerBytesMax: number;
  /** Whether Node rejects requests without a Host header. */
  readonly requireHostHeader: boolean;
  /** Allowed `Host` names without TLS, in addition to loopback names. */
  readonly allowedHosts: readonly string[] | undefined;
  readonly unproven: UnprovenBounds | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Body of a 403 response to a cross-origin request. */
export const CROSS_ORIGIN_MESSAGE = 'cross-origin requests are not allowed';

/** Common base of the HTTP listeners: limits, certificates, start and shutdown. */
export class BoundedHttpServer {
  readonly server: Server | TlsServer;
  readonly sockets: Connections;
  readonly #options: BoundedHttpOptions;
  /** Null with TLS, where the certificate prevents DNS rebinding. */
  readonly #knownHosts: KnownHosts | null;
  #tls: ListenerTls | null;
  #draining = false;

  constructor(options: BoundedHttpOptions) {
    const { tls, limits, headerBytesMax, requireHostHeader, unproven } = options;
    this.#options = options;
    this.#tls = tls;
    this.#knownHosts = tls === null ? new KnownHosts(options.allowedHosts ?? []) : null;
    this.sockets = new Connections(limits, unproven);
    // Node's own deadlines and limits, with strict parsing.
    const http = {
      maxHeaderSize: headerBytesMax,
      headersTimeout: limits.header_ms,
      requestTimeout: limits.header_ms + limits.body_ms,
      keepAliveTimeout: limits.idle_ms,
      connectionsCheckingInterval: Math.min(CHECK_MS_MAX, limits.header_ms),
      insecureHTTPParser: false,
      requireHostHeader,
      noDelay: true,
    };
    this.server =
      tls === null
        ? createServer(http)
        : createTlsServer({ ...http, ...tlsServerOptions(tls, limits.tls_handshake_ms) });
    this.server.prependListener('connection', (socket: Socket) => void this.sockets.admit(socket));
  }

  /** Whether connections should close after their pending response. */
  get isDraining(): boolean {
    return this.#draining;
  }

  /** Returns whether a web page sent the request: through DNS rebinding or from another origin. */
  isCrossSite({ headers }: IncomingMessage): boolean {
    return this.#knownHosts?.has(headers.host) === false || isCrossOrigin(headers, null);
  }

  async listen(host: string, port: number): Promise<Listener['address']> {
    const { protocol, log } = this.#options;
    const address = await listenOn(protocol, this.server, host, port, this.#tls);
    this.server.on('error', (error: Error) => log.error({ err: error, listener: protocol }, 'listener failed'));
    return address;
  }

  reloadTls(tls: ListenerTls): void {
    requireSameClientAuth(this.#tls, tls);
    (this.server as TlsServer).setSecureContext(secureContextOptions(tls));
    this.#tls = tls;
  }

  async close(drainMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    const cancel = clock.after(drainMs, () => this.sockets.destroyAll());
    // A connection may become idle between its requests, after the server closed the idle ones.
    const stopClosing = startSweep(clock, [DRAIN_CHECK_MS], () => this.server.closeIdleConnections());
    await closed;
    cancel();
    stopClosing();
  }
}
