import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';

import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { isCrossOrigin, KnownHosts } from '../runtime/web-origin.ts';
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
/** How often idle connections are looked for while the last requests end. */
const DRAIN_CHECK_MS = 50;

export interface BoundedHttpOptions {
  readonly protocol: Ingress;
  readonly tls: ListenerTls | null;
  readonly limits: ConnectionLimits;
  /** Of the request line and the headers together. */
  readonly headerBytesMax: number;
  /** Whether Node refuses what names no host. */
  readonly requireHostHeader: boolean;
  /** Names in `Host` that are answered without TLS, beside those of loopback. */
  readonly allowedHosts: readonly string[] | undefined;
  readonly unproven: UnprovenBounds | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What foreign requests are answered with, and status 403. */
export const FOREIGN = 'pages of other sites may not call this executor';

/** What listeners over HTTP have in common, whatever is said over it: bounds, certificates, beginning and end. */
export class BoundedHttpServer {
  readonly server: Server | TlsServer;
  readonly sockets: Connections;
  readonly #options: BoundedHttpOptions;
  /** Null with TLS: a name that leads here by deceit has no certificate. */
  readonly #knownHosts: KnownHosts | null;
  #tls: ListenerTls | null;
  #draining = false;

  constructor(options: BoundedHttpOptions) {
    const { tls, limits, headerBytesMax, requireHostHeader, unproven } = options;
    this.#options = options;
    this.#tls = tls;
    this.#knownHosts = tls === null ? new KnownHosts(options.allowedHosts ?? []) : null;
    this.sockets = new Connections(limits, unproven);
    // Node's own deadlines and caps; nothing of it is lenient.
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

  /** Whether connections are to end with the answer that they wait for. */
  get isDraining(): boolean {
    return this.#draining;
  }

  /** Whether a web page sends it: through a name of its own that leads here, or from another origin. */
  isForeign({ headers }: IncomingMessage): boolean {
    return this.#knownHosts?.has(headers.host) === false || isCrossOrigin(headers, null);
  }

  async listen(host: string, port: number): Promise<Listener['address']> {
    const { protocol, log } = this.#options;
    const address = await listenOn(protocol, this.server, host, port, this.#tls);
    this.server.on('error', (error: Error) => log.error({ err: error, listener: protocol }, 'the listener failed'));
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
    // A connection may become idle between two requests of its own, after the server closed those that were.
    const stopClosing = startSweep(clock, [DRAIN_CHECK_MS], () => this.server.closeIdleConnections());
    await closed;
    cancel();
    stopClosing();
  }
}
