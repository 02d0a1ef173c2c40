import { createSecureContext } from 'node:tls';

import type * as Peculiar from '@peculiar/x509';

import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import { revocationLists } from '../listener.ts';
import { KeyFileError } from './key-file-error.ts';
import type { PeerCertificate } from './port.ts';

/** Certificates whose look-up is remembered. */
const KNOWN_MAX = 10_000;

type Lists = ReadonlyMap<string, ReadonlySet<string>>;
type X509 = typeof Peculiar;

/**
 * Which client certificates were revoked. TLS looks at the lists when a connection is made; this is asked for each call, so
 * that a connection which was open before its certificate was revoked is of no use any more.
 */
export class RevokedCertificates {
  #x509: X509 | null = null;
  /** Serial numbers by issuer. */
  #lists: Lists = new Map();
  readonly #known = new Map<string, boolean>();

  /** Uses these lists from now on, PEM; null for none. @throws KeyFileError where they cannot be read; the old ones stay */
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
        log.error(
          { file: source },
          `the list of revoked certificates ended on ${end}; every client certificate is refused`,
        );
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

/** As TLS reads them: what it refuses must not come as far as the listeners. */
function listsOf(pem: string, source: string): string[] {
  const lists = revocationLists(pem);
  if (lists.length === 0) throw new KeyFileError(`${source}: holds no list of revoked certificates in PEM (X509 CRL)`);
  try {
    createSecureContext({ crl: lists });
  } catch (error) {
    throw new KeyFileError(`${source}: holds a list of revoked certificates that cannot be read`, error);
  }
  return lists;
}

/** Serial numbers are written with and without leading zeros. */
function plain(serialNumber: string): string {
  return serialNumber.toLowerCase().replace(/^0+/, '');
}
