import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

import type { Clock } from '@heddle/base/clock';
import { bareHost } from '@heddle/base/net/address';
import { isLoopbackHost } from '@heddle/base/net/classify';
import { messageOf } from '@heddle/base/thrown';
import { eventLoopTurn } from '@heddle/base/turn';
import { type ClientTls, type Endpoint, TransportFailure } from './client/port.ts';

export const CONNECT_MS = 10_000;
/** Time to wait, after the handshake, for the server to confirm the client certificate. */
const ACCEPTED_MS = 250;
const KEEP_ALIVE_MS = 30_000;

/** Rejects endpoints that would receive signed requests in plain text over the network. */
export function requireSafeEndpoint(endpoint: Endpoint, tls: ClientTls | null): void {
  if (endpoint.tls && tls === null)
    throw new Error(`${nameOf(endpoint)}: tls.ca is required to verify its certificate`);
  if (!endpoint.tls && !isLoopbackHost(endpoint.host))
    throw new Error(`${nameOf(endpoint)}: TLS is required except on loopback`);
}

export function nameOf({ protocol, host, port }: Endpoint): string {
  return `${protocol}://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`;
}

/**
 * Opens a connection to the endpoint and verifies its certificate.
 *
 * @throws TransportFailure with `maybeReceived` false: no request was sent
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
        onCertificateAccepted(socket as TLSSocket, clock, () => resolve(undefined)),
      );
  });
  try {
    await promise;
    // Data written inside the session event stays buffered in TLS until the next write.
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
 * Waits until the server accepted the client certificate. A TLS 1.3 handshake completes for the client before the
 * server has checked its certificate; the first session ticket confirms it. A request sent earlier could be lost
 * silently.
 */
function onCertificateAccepted(socket: TLSSocket, clock: Clock, resolve: () => void): () => void {
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
