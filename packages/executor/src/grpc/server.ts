import { createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';

import type { ConnectionInjector, Server as GrpcServer } from '@grpc/grpc-js';

import { Connections } from '../connections.ts';
import {
  listenOn,
  requireSafeBind,
  requireSameClientAuth,
  secureContextOptions,
  startSweep,
  tlsServerOptions,
} from '../listener.ts';
import type { Listener, ListenerOptions, ListenerTls } from '../listener.ts';
import type { RawCall } from './arrival.ts';
import { handleCall, type CallContext } from './call.ts';
import { HealthService } from './health.ts';
import { ANSWER_MESSAGE_BYTES_MAX, GRPC_LIMITS, type GrpcLimits } from './limits.ts';
import { loadGrpc } from './packages.ts';
import { Peer, Peers } from './peers.ts';
import { resetOptions, ResetGuard } from './reset-guard.ts';
import { setHttp2Options, watchStreams } from './streams.ts';
import { UNITS } from '../unproven-queue.ts';
import { loadWire } from './wire.ts';

const ALPN = 'h2';
/** Interval basis for checking held bytes: the sweep runs four times per interval. */
const HELD_CHECK_BASIS_MS = 400;

/** Opens a gRPC listener. @throws Error if it cannot listen, a package is missing, or TLS is missing beyond loopback */
export async function openGrpcListener(options: ListenerOptions<GrpcLimits>): Promise<Listener> {
  requireSafeBind('grpc', options.host, options.tls);
  const limits = { ...GRPC_LIMITS, ...options.limits };
  const { manager, clock, log } = options;
  const [grpc, wire] = await Promise.all([loadGrpc(), loadWire()]);
  const connections = new Connections(limits, options.unproven);
  const peers = new Peers(connections);
  const server = new grpc.Server(serverOptions(limits));
  const context: CallContext = { grpc, wire, manager, peers, limits, clock, log };
  const health = await HealthService.load({ manager, peers, limits, clock });
  setHttp2Options(server, resetOptions(limits.in_flight_max));
  registerCall(server, wire.callPath, (call) => handleCall(context, call, false));
  registerCall(server, wire.watchPath, (call) => handleCall(context, call, true));
  for (const [path, handle] of health.calls) registerCall(server, path, handle);
  // The sockets are created here and handed to the library once admitted, so that TLS reloads do not interrupt calls.
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
  const resets = new ResetGuard(limits.in_flight_max, clock);
  watchStreams(server, {
    opened: (stream, session, begin) => {
      const { socket } = session;
      resets.watch(stream, session, peers.of(socket));
      connections.enter(socket, UNITS.stream, begin);
    },
    begun: (stream, { socket }) => {
      const peer = peers.of(socket);
      stream.on('data', () => peer?.update());
    },
  });
  const listening = new GrpcListener(options, { limits, connections, peers, resets, server, injector, health });
  await listening.listen();
  return listening;
}

function serverOptions(limits: GrpcLimits): Record<string, number> {
  return {
    'grpc.max_receive_message_length': limits.message_bytes_max,
    'grpc.max_send_message_length': ANSWER_MESSAGE_BYTES_MAX,
    'grpc.max_concurrent_streams': limits.in_flight_max,
    'grpc.keepalive_time_ms': limits.keepalive_ms,
    'grpc.keepalive_timeout_ms': limits.keepalive_timeout_ms,
    'grpc.max_connection_age_ms': limits.connection_age_ms,
    'grpc.max_connection_age_grace_ms': limits.connection_age_grace_ms,
    'grpc.max_connection_idle_ms': limits.idle_ms,
    'grpc.enable_channelz': 0,
  };
}

/**
 * Registers a call as bidirectional streaming, whatever its definition says, which is identical on the wire: this makes
 * it possible to limit the arrival time of a request and to detect when its answer was taken.
 */
function registerCall(server: GrpcServer, path: string, handle: (call: RawCall) => void): void {
  const bytes = (message: Buffer): Buffer => message;
  server.register<Buffer, Buffer>(path, handle, bytes, bytes, 'bidi');
}

interface Parts {
  limits: GrpcLimits;
  connections: Connections;
  peers: Peers;
  resets: ResetGuard;
  server: GrpcServer;
  injector: ConnectionInjector;
  health: HealthService;
}

class GrpcListener implements Listener {
  readonly protocol = 'grpc';
  address: Listener['address'] = { host: '', port: 0 };
  readonly #options: ListenerOptions<GrpcLimits>;
  readonly #parts: Parts;
  readonly #sockets: TcpServer | TlsServer;
  #tls: ListenerTls | null;
  #closed: Promise<void> | null = null;
  #stopSweep: () => void = () => undefined;

  constructor(options: ListenerOptions<GrpcLimits>, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#tls = options.tls;
    this.#sockets = options.tls === null ? this.#plainServer() : this.#tlsServer(options.tls);
  }

  async listen(): Promise<void> {
    const { host, port, log } = this.#options;
    this.address = await listenOn(this.protocol, this.#sockets, host, port, this.#tls);
    const { peers, limits } = this.#parts;
    this.#stopSweep = startSweep(this.#options.clock, [HELD_CHECK_BASIS_MS], () =>
      peers.holdWithin(limits.held_bytes_max),
    );
    this.#sockets.on('error', (error: Error) => log.error({ err: error, listener: 'grpc' }, 'listener failed'));
  }

  reloadTls(tls: ListenerTls): void {
    requireSameClientAuth(this.#tls, tls);
    (this.#sockets as TlsServer).setSecureContext(secureContextOptions(tls));
    this.#tls = tls;
  }

  close(drainMs: number): Promise<void> {
    this.#closed ??= this.#close(drainMs);
    return this.#closed;
  }

  async #close(drainMs: number): Promise<void> {
    const { connections, health, injector, server } = this.#parts;
    const ended = new Promise<void>((resolve) => this.#sockets.close(() => resolve()));
    health.close();
    injector.drain(drainMs);
    const cancelCut = this.#options.clock.after(drainMs, () => connections.destroyAll());
    await ended;
    cancelCut();
    this.#stopSweep();
    injector.destroy();
    server.forceShutdown();
  }

  #plainServer(): TcpServer {
    return createTcpServer({ noDelay: true }, (socket) => this.#admit(socket, () => this.#accept(socket)));
  }

  #tlsServer(tls: ListenerTls): TlsServer {
    const { limits } = this.#parts;
    const options = { ...tlsServerOptions(tls, limits.tls_handshake_ms), ALPNProtocols: [ALPN], noDelay: true };
    const server = createTlsServer(options, (socket) => {
      if (socket.alpnProtocol === ALPN) this.#accept(socket);
      else socket.destroy();
    });
    // Runs before TLS, so that a rejected connection costs no handshake.
    const handshakes = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      this.#admit(socket, () => handshakes.forEach((begin) => begin.call(server, socket)));
    });
    server.on('tlsClientError', (error, socket) => {
      this.#options.log.debug({ err: error, listener: 'grpc' }, 'TLS handshake failed');
      socket.destroy();
    });
    return server;
  }

  #admit(socket: Socket, begin: () => void): void {
    const { peers, resets } = this.#parts;
    if (peers.admit(socket)) resets.admit(socket, begin);
  }

  #accept(socket: Socket): void {
    const { connections, limits, peers, injector } = this.#parts;
    socket.on('error', (error) => {
      this.#options.log.debug({ err: error, listener: 'grpc' }, 'connection failed');
      socket.destroy();
    });
    peers.add(socket, new Peer(socket, connections, limits, this.#options.clock));
    injector.injectConnection(socket);
  }
}
