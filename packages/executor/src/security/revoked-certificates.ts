import { createSecureContext } from 'node:tls';

import type * as Peculiar from '@peculiar/x509';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { revocationLists } from '../listener.ts';
import { KeyFileError } from './key-file-error.ts';
import type { PeerCertificate } from './port.ts';

/** Maximum cached lookups. */
const KNOWN_MAX = 10_000;

type Lists = ReadonlyMap<string, ReadonlySet<string>>;
type X509 = typeof Peculiar;

/**
 * Revoked client certificates. TLS checks the lists when a connection is made; this is checked per call, so that
 * existing connections of revoked certificates are rejected too.
 */
export class RevokedCertificates {
  #x509: X509 | null = null;
  /** Serial numbers by issuer. */
  #lists: Lists = new Map();
  readonly #known = new Map<string, boolean>();

  /**
   * Replaces the lists, PEM; null does nothing. @throws KeyFileError if they are invalid; the previous ones stay in use
   */
  async use(pem: string | null, source: string, { clock, log }: { clock: Clock; log: Logger }): Promise<void> {
    if (pem === null) return;
    const texts = listsOf(pem, source);
    await import('./reflect-metadata.ts');
    const x509 = (this.#x509 ??= await import('@peculiar/x509'));
    const lists = new Map<string, Set<string>>();
    for (const text of texts) {
      const list = new x509.X509Crl(text);
      const serials = lists.get(list.issuer) ?? new Set();
      for (const { serialNumber } of list.entries) serials.add(plain(serialNumber));
      lists.set(list.issuer, serials);
      if (list.nextUpdate !== undefined && list.nextUpdate.getTime() <= clock.now()) {
        const end = list.nextUpdate.toISOString();
        log.error({ file: source }, `certificate revocation list expired on ${end}; rejecting all client certificates`);
      }
    }
    this.#lists = lists;
    this.#known.clear();
  }

  has(peer: PeerCertificate): boolean {
    if (this.#x509 === null || this.#lists.size === 0) return false;
    const known = this.#known.get(peer.fingerprint);
    if (known !== undefined) return known;
    const certificate = new this.#x509.X509Certificate(peer.der);
    const revoked = this.#lists.get(certificate.issuer)?.has(plain(certificate.serialNumber)) ?? false;
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(peer.fingerprint, revoked);
    return revoked;
  }
}

/** Validates the lists like TLS does, so that the listeners never get invalid ones. */
function listsOf(pem: string, source: string): string[] {
  const lists = revocationLists(pem);
  if (lists.length === 0)
    throw new KeyFileError(`${source}: contains no certificate revocation list in PEM (X509 CRL)`);
  try {
    createSecureContext({ crl: lists });
  } catch (error) {
    throw new KeyFileError(`${source}: contains an invalid certificate revocation list`, error);
  }
  return lists;
}

/** Normalizes a serial number, which may have leading zeros. */
function plain(serialNumber: string): string {
  return serialNumber.toLowerCase().replace(/^0+/, '');
}
