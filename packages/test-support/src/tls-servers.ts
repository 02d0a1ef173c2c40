import { once } from 'node:events';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { TlsOptions } from 'node:tls';
import type { TestContext } from 'node:test';
import type { Issued } from './certificates.ts';
import { eventually } from './eventually.ts';

export interface TestServer {
  readonly port: number;
  /** Connections that were made so far, and that are open now. */
  readonly accepted: number;
  readonly open: number;
  /** Resolves when no connection is open any more. */
  idle(): Promise<void>;
}

/** A TLS server on loopback; the chain is sent as it stands. Closed when the test ends. */
export async function serveTls(
  t: TestContext,
  chain: readonly Issued[],
  options: TlsOptions = {},
  ocspAnswer?: Buffer,
): Promise<TestServer> {
  const server = createTlsServer({
    key: chain[0]!.key,
    cert: chain.map(({ pem }) => pem).join(''),
    ciphers: 'ALL:COMPLEMENTOFALL:@SECLEVEL=0',
    ...options,
  });
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket) => socket.on('error', () => undefined));
  if (ocspAnswer !== undefined) server.on('OCSPRequest', (_certificate, _issuer, answer) => answer(null, ocspAnswer));
  return listen(t, server);
}

/** A server of bare TCP, which says whatever it likes. */
export async function serveTcp(t: TestContext, onConnection: (socket: Socket) => void): Promise<TestServer> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  return listen(t, server);
}

/** Sends `bytes` once the client has spoken, and closes where `close` says so. */
export function answering(bytes: Uint8Array, close = false): (socket: Socket) => void {
  return (socket) => {
    socket.once('data', () => {
      if (close) socket.end(bytes);
      else socket.write(bytes);
    });
  };
}

async function listen(t: TestContext, server: Server): Promise<TestServer> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return {
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    async idle() {
      await eventually(() => sockets.size === 0, 'all connections are closed');
    },
  };
}
