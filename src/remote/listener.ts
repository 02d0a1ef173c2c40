import { constants, type X509Certificate } from 'node:crypto';
import { BlockList, isIP, type AddressInfo, type Server } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';

import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import type { RemoteManager } from './manager/port.ts';
import type { Ingress } from './protocol/messages.ts';
import type { PeerCertificate } from './security/port.ts';
import type { UnprovenBounds } from './connections.ts';

/** What a listener proves itself with, and what callers must prove themselves with. All in PEM. */
export interface ListenerTls {
  /** The chain, leaf first. */
  readonly cert: string;
  readonly key: string;
  /** Authorities of client certificates: where given, callers must present one. */
  readonly ca: string | null;
  /** Lists of those that were revoked, one of each authority; none are asked where absent. */
  readonly crl?: string | null;
}

/** One port that takes requests for a manager. */
export interface Listener {
  readonly protocol: Ingress;
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Uses these certificates for connections that are made from now on.
   *
   * @throws Error where they cannot be read; the old ones stay then
   */
  reloadTls(tls: ListenerTls): void;
  /** Takes no connection any more; those that are open may finish what they asked for within `drainMs`, then are cut. */
  close(drainMs: number): Promise<void>;
}

export interface ListenerOptions<Limits> {
  readonly manager: RemoteManager;
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Null on loopback only. */
  readonly tls: ListenerTls | null;
  readonly limits?: Partial<Limits>;
  readonly unproven?: UnprovenBounds;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What every listener bounds, whatever it speaks. */
export interface ConnectionLimits {
  /** Open connections, of everybody and of one address. */
  connections_max: number;
  connections_per_address_max: number;
  tls_handshake_ms: number;
  /** From the first byte of a request to the end of its header, and from there to its last byte. */
  header_ms: number;
  body_ms: number;
  /** Without any request. */
  idle_ms: number;
  /** Requests of one connection that wait for their answer. */
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

/** The largest payload of a request, bytes. */
export const PAYLOAD_BYTES_MAX = 4 * 1024 * 1024;
/** The largest answer that clients read unless told otherwise, bytes; how large results may be is the executor's setting. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether only programs of this machine reach a listener on `host`: an address of loopback, or `localhost`. */
export function isLoopbackHost(host: string): boolean {
  const bare = bareHost(host);
  const family = isIP(bare);
  if (family === 0) return bare === 'localhost';
  return LOOPBACK.check(bare, family === 6 ? 'ipv6' : 'ipv4');
}

/** Without the brackets that IPv6 addresses have in URLs. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
}

/** Refuses a listener that would take signed requests in plain text from other machines. */
export function requireSafeBind(protocol: Ingress, host: string, tls: ListenerTls | null): void {
  if (tls !== null || isLoopbackHost(host)) return;
  throw new Error(
    `the ${protocol} listener on ${host} has no certificate: give one (cert and key), or listen on 127.0.0.1`,
  );
}

/** The same for the address that a name led to: `localhost` is what the machine's own files say it is. */
export function requireSafeAddress(protocol: Ingress, server: Server, tls: ListenerTls | null): Listener['address'] {
  const { address, port } = server.address() as AddressInfo;
  requireSafeBind(protocol, address, tls);
  return { host: address, port };
}

/** Starts listening, and resolves with where. @throws Error where the address cannot be listened on */
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
 * Calls `sweep` again and again, often enough for the shortest of the deadlines: one timer for all connections of a
 * listener instead of one for each request. Returns how to stop it.
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
 * TLS 1.3, with a client certificate where authorities are given. Sessions are never resumed: what a certificate was
 * checked against may have been reloaded since.
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

/** Each list of a file by itself: of several in one text TLS would read the first. */
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

/** Refuses a reload that would change whether callers need a certificate: servers cannot change that while they run. */
export function requireSameClientAuth(before: ListenerTls | null, after: ListenerTls): void {
  if (before === null) throw new Error('the listener was opened without TLS; restart to give it a certificate');
  if ((before.ca === null) === (after.ca === null)) return;
  throw new Error('whether client certificates are asked for cannot change while a listener runs; restart it');
}

/** What the caller's certificate says, where it presented one that was checked. */
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

/** One entry as Node writes it: `DNS:name`, or with what would be ambiguous as a JSON string, `DNS:"a, URI:b"`. */
const NAME_ENTRY = /\s*([^:,"]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)/y;

/** DNS names and URIs of a list of subject alternative names as Node writes it; none where it cannot be read. */
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
