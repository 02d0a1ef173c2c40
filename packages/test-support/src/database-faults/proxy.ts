import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Where connections go: a port of loopback, or a Unix socket. */
export type ProxyTarget = number | string;

/** An address that moves, and a network that fails on demand. */
export interface Proxy {
  readonly port: number;
  /** The same URL through the proxy. */
  through(url: string): string;
  /** Where connections go from now on; those that there are stay. */
  pointTo(target: ProxyTarget): void;
  /** Breaks every connection with a reset. */
  reset(): void;
  /** What is sent from now on goes nowhere, on the connections that there are and on new ones; undone with `false`. */
  swallow(isSwallowing: boolean): void;
  /** Holds back what the server answers, for so long each time. */
  slowDown(ms: number): void;
  /** Sends these bytes right behind the next answer that ends a statement of a session, and closes the connection. */
  endWith(bytes: Buffer): void;
  close(): Promise<void>;
}

/** Where the server of a database listens. */
export function targetOf(url: string): ProxyTarget {
  const { port, searchParams } = new URL(url);
  const directory = searchParams.get('host');
  const number = port === '' ? '5432' : port;
  return directory === null ? Number(number) : `${directory}/.s.PGSQL.${number}`;
}

/** A TCP proxy on loopback before a server. */
export async function startProxy(target: ProxyTarget): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let current = target;
  let isSwallowing = false;
  let delayMs = 0;
  let farewell: Buffer | null = null;
  const track = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const server = createServer((near) => {
    const far = typeof current === 'number' ? connect(current, '127.0.0.1') : connect(current);
    track(near, far);
    track(far, near);
    near.on('data', (bytes) => {
      if (!isSwallowing) far.write(bytes);
    });
    let order = Promise.resolve();
    const answer = async (bytes: Buffer): Promise<void> => {
      if (delayMs > 0) await sleep(delayMs);
      if (isSwallowing || near.destroyed) return;
      if (farewell === null || !answersStatement(bytes)) near.write(bytes);
      else {
        near.end(Buffer.concat([bytes, farewell]));
        farewell = null;
      }
    };
    far.on('data', (bytes) => {
      order = order.then(() => answer(bytes));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    through: (url) => at(url, port),
    pointTo: (other) => (current = other),
    reset: () => sockets.forEach((socket) => socket.resetAndDestroy()),
    swallow: (on) => (isSwallowing = on),
    slowDown: (ms) => (delayMs = ms),
    endWith: (bytes) => (farewell = bytes),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Whether a chunk has rows and ends with ReadyForQuery, as no part of a login does. */
function answersStatement(bytes: Buffer): boolean {
  return bytes.includes('SELECT 1\0') && bytes.at(-6) === 'Z'.charCodeAt(0);
}

/** The same database at a port of loopback. */
export function at(url: string, port: number): string {
  const moved = new URL(url);
  moved.searchParams.delete('host');
  moved.host = `127.0.0.1:${port}`;
  return moved.href;
}

/** A port that no one listens on now. */
export async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
