import { createServer, type AddressInfo, type Server } from 'node:net';

/** Real listeners on loopback, each of which sends its given banner. */
export class Listeners {
  readonly #servers = new Map<string, Server>();
  /** Times of connections, in milliseconds of the monotonic clock. */
  readonly connections: number[] = [];

  async listen(host: string, port = 0, greeting = 'hello\r\n'): Promise<number> {
    const server = createServer((socket) => {
      this.connections.push(performance.now());
      socket.on('error', () => undefined);
      socket.end(greeting);
    });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
    const bound = (server.address() as AddressInfo).port;
    this.#servers.set(`${host}:${bound}`, server);
    return bound;
  }

  async close(host: string, port: number): Promise<void> {
    const server = this.#servers.get(`${host}:${port}`);
    this.#servers.delete(`${host}:${port}`);
    await new Promise((resolve) => server?.close(resolve));
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => new Promise((resolve) => server.close(resolve))));
    this.#servers.clear();
  }
}
