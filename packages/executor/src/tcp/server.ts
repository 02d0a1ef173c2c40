import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls';

import { Connections } from '../connections.ts';
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
import { type ConnectionContext, TcpConnection } from './connection.ts';
import { TCP_LIMITS, type TcpLimits } from './limits.ts';

/** Opens a TCP listener. @throws Error if it cannot listen, or if TLS is missing beyond loopback */
export async function openTcpListener(options: ListenerOptions<TcpLimits>): Promise<Listener> {
  requireSafeBind('tcp', options.host, options.tls);
  const listener = new TcpListener(options);
  await listener.open(options);
  return listener;
}

class TcpListener implements Listener {
  readonly protocol = 'tcp';
  address: Listener['address'] = { host: '', port: 0 };
  readonly #server: Server | TlsServer;
  readonly #limits: TcpLimits;
  readonly #sockets: Connections;
  readonly #connections = new Set<TcpConnection>();
  readonly #context: ConnectionContext;
  #tls: ListenerTls | null;
  #partialBytes = 0;
  #stopSweep: () => void = () => undefined;

  constructor({ manager, tls, limits, unproven, clock, log }: ListenerOptions<TcpLimits>) {
    this.#tls = tls;
    this.#limits = { ...TCP_LIMITS, ...limits };
    this.#sockets = new Connections(this.#limits, unproven);
    this.#context = {
      manager,
      limits: this.#limits,
      clock,
      log: log.child({ listener: 'tcp' }),
      onProven: ({ socket }) => this.#sockets.markProven(socket),
      shareOf: (connection) => this.#sockets.shareOf(connection.socket, () => connection.refuseUnfinished()),
      enter: (connection, units, run) => this.#sockets.enter(connection.socket, units, run),
      onPartial: (connection, delta) => this.#countPartial(connection, delta),
    };
    this.#server = tls === null ? this.#plainServer() : this.#tlsServer(tls);
  }

  async open({ host, port }: ListenerOptions<TcpLimits>): Promise<void> {
    const { clock, log } = this.#context;
    const { header_ms, body_ms, idle_ms, output_ms } = this.#limits;
    this.address = await listenOn(this.protocol, this.#server, host, port, this.#tls);
    this.#server.on('error', (error: Error) => log.error({ err: error }, 'listener failed'));
    this.#stopSweep = startSweep(clock, [header_ms, body_ms, idle_ms, output_ms], (nowMs) => {
      for (const connection of this.#connections) connection.sweep(nowMs);
    });
  }

  reloadTls(tls: ListenerTls): void {
    requireSameClientAuth(this.#tls, tls);
    (this.#server as TlsServer).setSecureContext(secureContextOptions(tls));
    this.#tls = tls;
  }

  async close(drainMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.drain();
    const cancel = this.#context.clock.after(drainMs, () => this.#sockets.destroyAll());
    await closed;
    cancel();
    this.#stopSweep();
  }

  #plainServer(): Server {
    return createServer({ noDelay: true }, (socket) => {
      if (this.#sockets.admit(socket)) this.#serve(new TcpConnection(socket, null, this.#context));
    });
  }

  #tlsServer(tls: ListenerTls): TlsServer {
    const server = createTlsServer({ ...tlsServerOptions(tls, this.#limits.tls_handshake_ms), noDelay: true });
    server.prependListener('connection', (socket: Socket) => void this.#sockets.admit(socket));
    server.on('secureConnection', (socket: TLSSocket) => {
      this.#serve(new TcpConnection(socket, peerCertificateOf(socket), this.#context));
    });
    server.on('tlsClientError', (error, socket) => {
      this.#context.log.debug({ err: error.message }, 'TLS handshake failed');
      socket.destroy();
    });
    return server;
  }

  #serve(connection: TcpConnection): void {
    this.#connections.add(connection);
    connection.socket.once('close', () => this.#connections.delete(connection));
  }

  /** Enforces the total limit on the connection that holds the most, so that small ones are not affected. */
  #countPartial(grown: TcpConnection, delta: number): void {
    this.#partialBytes += delta;
    if (this.#partialBytes <= this.#limits.partial_bytes_max) return;
    let largest = grown;
    for (const connection of this.#connections)
      if (connection.partialBytes > largest.partialBytes) largest = connection;
    largest.refuseUnfinished();
  }
}
