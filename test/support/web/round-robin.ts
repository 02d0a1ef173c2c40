/** One address for several servers: each connection goes to the next one. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export class RoundRobin {
  /** Connections that each port was given. */
  readonly connections = new Map<number, number>();
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #ports: readonly number[] = [];
  #next = 0;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket) => this.#relay(socket));
  }

  static async start(): Promise<RoundRobin> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RoundRobin(server);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Sends further connections to these ports of loopback, in turn. */
  serve(...ports: readonly number[]): void {
    this.#ports = ports;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #relay(socket: Socket): void {
    const port = this.#ports[this.#next++ % this.#ports.length]!;
    this.connections.set(port, (this.connections.get(port) ?? 0) + 1);
    const target = connect(port, '127.0.0.1');
    socket.pipe(target).pipe(socket);
    for (const end of [socket, target]) {
      this.#sockets.add(end);
      end.on('error', () => socket.destroy()).on('close', () => this.#sockets.delete(end));
    }
  }
}
