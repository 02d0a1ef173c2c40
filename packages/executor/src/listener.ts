import { constants, type X509Certificate } from 'node:crypto';
import { type AddressInfo, type Server } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { bareHost } from '@heddle/base/net/address';
import { isLoopbackHost } from '@heddle/base/net/classify';
import type { RemoteManager } from './manager/port.ts';
import type { Ingress } from './protocol/messages.ts';
import type { PeerCertificate } from './security/port.ts';
import type { UnprovenBounds } from './connections.ts';

/** TLS settings of a listener. All values are PEM. */
export interface ListenerTls {
  /** The certificate chain, leaf first. */
  readonly cert: string;
  readonly key: string;
  /** Authorities of client certificates; if set, callers must present one. */
  readonly ca: string | null;
  /** Certificate revocation lists, one per authority; if absent, revocation is not checked. */
  readonly crl?: string | null;
}

/** One port that accepts requests for a manager. */
export interface Listener {
  readonly protocol: Ingress;
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Uses these certificates for new connections.
   *
   * @throws Error if they are invalid; the previous ones stay in use
   */
  reloadTls(tls: ListenerTls): void;
  /** Stops accepting connections; open ones may finish their requests within `drainMs` and are then cut. */
  close(drainMs: number): Promise<void>;
}

export interface ListenerOptions<Limits> {
  readonly manager: RemoteManager;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Null only on loopback. */
  readonly tls: ListenerTls | null;
  readonly limits?: Partial<Limits>;
  readonly unproven?: UnprovenBounds;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Limits common to all listeners. */
export interface ConnectionLimits {
  /** Open connections, in total and per address. */
  connections_max: number;
  connections_per_address_max: number;
  tls_handshake_ms: number;
  /** Time from the first byte of a request to the end of its header, and from there to its last byte. */
  header_ms: number;
  body_ms: number;
  /** Time without a request before a connection is closed. */
  idle_ms: number;
  /** Concurrent requests per connection. */
  in_flight_max: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  connections_max: 1_000,
  connections_per_address_max: 100,
  tls_handshake_ms: 5_000,
  header_ms: 10_000,
  body_ms: 30_000,
  idle_ms: 300_000,
  in_flight_max: 64,
};

/** Maximum payload of a request, bytes. */
export const PAYLOAD_BYTES_MAX = 4 * 1024 * 1024;
/** Maximum answer that clients read by default, bytes; the size of results is a setting of the executor. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** Rejects a listener that would accept signed requests in plain text from other machines. */
export function requireSafeBind(protocol: Ingress, host: string, tls: ListenerTls | null): void {
  if (tls !== null || isLoopbackHost(host)) return;
  throw new Error(
    `the ${protocol} listener on ${host} has no certificate; set one (cert and key), or listen on 127.0.0.1`,
  );
}

/** Repeats the check for the resolved address, because `localhost` may resolve to anything. */
export function requireSafeAddress(protocol: Ingress, server: Server, tls: ListenerTls | null): Listener['address'] {
  const { address, port } = server.address() as AddressInfo;
  requireSafeBind(protocol, address, tls);
  return { host: address, port };
}

/** Starts listening and returns the address. @throws Error if it cannot listen */
export async function listenOn(
  protocol: Ingress,
  server: Server,
  host: string,
  port: number,
  tls: ListenerTls | null,
): Promise<Listener['address']> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: bareHost(host), port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  try {
    return requireSafeAddress(protocol, server, tls);
  } catch (error) {
    server.close();
    throw error;
  }
}

const SWEEP_MS_MAX = 1_000;
const SWEEP_MS_MIN = 20;
const SWEEPS_A_DEADLINE = 4;

/**
 * Calls `sweep` periodically, often enough for the shortest deadline: one timer per listener instead of one per
 * request. Returns a function that stops it.
 */
export function startSweep(clock: Clock, deadlinesMs: readonly number[], sweep: (nowMs: number) => void): () => void {
  const everyMs = Math.min(SWEEP_MS_MAX, Math.max(SWEEP_MS_MIN, Math.min(...deadlinesMs) / SWEEPS_A_DEADLINE));
  let cancel: () => void = () => undefined;
  const arm = (): void => {
    cancel = clock.after(everyMs, () => {
      sweep(clock.monotonic());
      arm();
    });
  };
  arm();
  return () => cancel();
}

/**
 * Returns TLS 1.3 options, with client certificates if authorities are set. Sessions are never resumed, because the
 * certificates they were checked against may have been reloaded.
 */
export function tlsServerOptions(tls: ListenerTls, handshakeMs: number): TlsOptions {
  return {
    ...secureContextOptions(tls),
    requestCert: tls.ca !== null,
    rejectUnauthorized: tls.ca !== null,
    handshakeTimeout: handshakeMs,
  };
}

const REVOCATION_LIST = /-----BEGIN X509 CRL-----[\s\S]+?-----END X509 CRL-----/g;

/** Splits a file into its revocation lists, because TLS reads only the first of several. */
export function revocationLists(pem: string): string[] {
  return pem.match(REVOCATION_LIST) ?? [];
}

export function secureContextOptions(tls: ListenerTls): TlsOptions {
  return {
    cert: tls.cert,
    key: tls.key,
    ...(tls.ca === null ? {} : { ca: tls.ca }),
    ...(tls.crl === null || tls.crl === undefined ? {} : { crl: revocationLists(tls.crl) }),
    minVersion: 'TLSv1.3',
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/** Rejects a reload that changes whether client certificates are required, which a running server cannot change. */
export function requireSameClientAuth(before: ListenerTls | null, after: ListenerTls): void {
  if (before === null) throw new Error('the listener was opened without TLS; restart it with a certificate');
  if ((before.ca === null) === (after.ca === null)) return;
  throw new Error('client certificate authentication cannot be turned on or off while the listener runs; restart it');
}

/** Returns the caller's verified certificate, if it presented one. */
export function peerCertificateOf(socket: TLSSocket): PeerCertificate | null {
  if (!socket.authorized) return null;
  const certificate = socket.getPeerX509Certificate();
  return certificate === undefined ? null : describePeer(certificate);
}

export function describePeer(certificate: X509Certificate): PeerCertificate {
  return {
    names: alternativeNames(certificate.subjectAltName ?? ''),
    fingerprint: certificate.fingerprint256,
    der: certificate.raw,
  };
}

/** One entry in Node's format: `DNS:name`, or a JSON string if ambiguous, `DNS:"a, URI:b"`. */
const NAME_ENTRY = /\s*([^:,"]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)/y;

/** Parses the DNS names and URIs of subject alternative names in Node's format; empty if invalid. */
export function alternativeNames(text: string): string[] {
  const names: string[] = [];
  NAME_ENTRY.lastIndex = 0;
  while (NAME_ENTRY.lastIndex < text.length) {
    const [, type, value = ''] = NAME_ENTRY.exec(text) ?? [];
    if (type === undefined) return [];
    if (type !== 'DNS' && type !== 'URI') continue;
    names.push(value.startsWith('"') ? String(JSON.parse(value)) : value);
  }
  return names;
}
