import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

import type { Clock } from '../runtime/clock.ts';
import { eventLoopTurn } from '../runtime/turn.ts';
import { type ClientTls, type Endpoint, TransportFailure } from './client/port.ts';
import { bareHost, isLoopbackHost } from './listener.ts';

export const CONNECT_MS = 10_000;
/** How long to wait for the server's word that it took our certificate, once the connection stands. */
const ACCEPTED_MS = 250;
const KEEP_ALIVE_MS = 30_000;

/** Refuses to send signed requests in plain text to other machines. */
export function requireSafeEndpoint(endpoint: Endpoint, tls: ClientTls | null): void {
  if (endpoint.tls && tls === null)
    throw new Error(`${nameOf(endpoint)}: needs the authorities that its certificate must come from`);
  if (!endpoint.tls && !isLoopbackHost(endpoint.host))
    throw new Error(`${nameOf(endpoint)}: without TLS only executors of this machine can be called`);
}

export function nameOf({ protocol, host, port }: Endpoint): string {
  return `${protocol}://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`;
}

/**
 * A connection to the endpoint, its certificate checked.
 *
 * @throws TransportFailure nothing was received: no request was sent
 */
export async function connectTo(
  endpoint: Endpoint,
  tls: ClientTls | null,
  { clock, connectMs }: { clock: Clock; connectMs: number },
): Promise<Socket> {
  const socket = endpoint.tls && tls !== null ? openTls(endpoint, tls) : openPlain(endpoint);
  const ready = endpoint.tls ? 'secureConnect' : 'connect';
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const onClose = (): void => reject(new Error('the connection was closed'));
  let cancel = clock.after(connectMs, () => reject(new Error(`no connection within ${connectMs} ms`)));
  socket.once('error', reject);
  socket.once('close', onClose);
  socket.once(ready, () => {
    if (!endpoint.tls) resolve(undefined);
    else
      cancel = both(
        cancel,
        onceAccepted(socket as TLSSocket, clock, () => resolve(undefined)),
      );
  });
  try {
    await promise;
    // What is written within the very event that tells of the session stays within TLS until something else is written.
    if (endpoint.tls) await eventLoopTurn();
  } catch (error) {
    socket.once('error', () => undefined);
    socket.destroy();
    throw new TransportFailure(`${nameOf(endpoint)} cannot be reached: ${messageOf(error)}`, false, error);
  } finally {
    cancel();
    socket.off('error', reject).off('close', onClose);
  }
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  return socket;
}

/**
 * In TLS 1.3 a client is done before the server has looked at its certificate. The first session that the server sends
 * says that it took it; a request that is sent before may be lost without anybody knowing.
 */
function onceAccepted(socket: TLSSocket, clock: Clock, resolve: () => void): () => void {
  socket.once('session', () => resolve());
  return clock.after(ACCEPTED_MS, resolve);
}

function both(first: () => void, second: () => void): () => void {
  return () => {
    first();
    second();
  };
}

function openPlain({ host, port }: Endpoint): Socket {
  return connectPlain({ host: bareHost(host), port, noDelay: true });
}

function openTls({ host, port }: Endpoint, { ca, cert, key, servername }: ClientTls): TLSSocket {
  const bare = bareHost(host);
  const name = servername ?? (isIP(bare) === 0 ? bare : undefined);
  return connectTls({
    host: bare,
    port,
    ca,
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(name === undefined ? {} : { servername: name }),
    minVersion: 'TLSv1.3',
  }).setNoDelay(true);
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Several addresses were tried, each with its own error.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error.message;
}
