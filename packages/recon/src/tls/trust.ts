import { X509Certificate } from 'node:crypto';
import { getCACertificates } from 'node:tls';

import { HeddleError } from '@heddle/base/errors';
import { parseCertificate } from './certificate.ts';
import type { ParsedCertificate } from './certificate.ts';
import { DerFault } from './der.ts';

/** The verdict on a chain as sent. */
export interface ChainVerdict {
  /** By position in the chain. */
  readonly self_signed: readonly boolean[];
  /** No path of valid signatures leads from the first certificate to a known root. */
  readonly untrusted: boolean;
  /** In the order sent, the chain leads neither to a known root nor to a self-signed certificate. */
  readonly broken: boolean;
}

const SIGNATURES_MAX = 64;
const REMEMBERED_MAX = 4096;

/** Trusted roots and cached signature verifications. One store serves a whole scan. */
export class TrustStore {
  readonly #roots: ReadonlyMap<string, readonly ParsedCertificate[]>;
  readonly #signatures = new Map<string, boolean>();
  #checksLeft = 0;

  /**
   * @param extra PEM bundles in addition to the roots of Node.js and the system
   * @throws HeddleError VALIDATION_FAILED if a bundle contains no certificate, or an unreadable one
   */
  constructor(extra: readonly string[] = []) {
    const own = extra.flatMap((text) => ownRoots(text));
    this.#roots = own.length === 0 ? knownRoots() : bySubject([...[...knownRoots().values()].flat(), ...own]);
  }

  /** @param now milliseconds since the epoch */
  judge(chain: readonly ParsedCertificate[], now: number): ChainVerdict {
    // A hostile chain may have many certificates of one name, so the work is bounded.
    this.#checksLeft = SIGNATURES_MAX;
    const self_signed = chain.map((certificate) => this.#isSignedBy(certificate, certificate));
    const leaf = chain[0];
    if (leaf === undefined) return { self_signed, untrusted: true, broken: true };
    return {
      self_signed,
      untrusted: !leaf.is_for_servers || !this.#leadsToRoot(leaf, chain.slice(1), now),
      broken: !this.#isInOrder(chain, self_signed),
    };
  }

  #leadsToRoot(leaf: ParsedCertificate, others: readonly ParsedCertificate[], now: number): boolean {
    // Each authority is visited once, so that certificates which sign each other form no loops.
    const unvisited = new Set(others);
    let level = [leaf];
    for (let depth = 0; level.length > 0; depth++) {
      if (level.some((certificate) => this.#isRooted(certificate, now))) return true;
      const issuers = [...unvisited].filter(
        (issuer) =>
          mayIssue(issuer, depth) &&
          isValid(issuer, now) &&
          level.some((certificate) => this.#isSignedBy(certificate, issuer)),
      );
      for (const issuer of issuers) unvisited.delete(issuer);
      level = issuers;
    }
    return false;
  }

  #isRooted(certificate: ParsedCertificate, now: number): boolean {
    const sameName = this.#roots.get(certificate.subject) ?? [];
    if (sameName.some((root) => Buffer.compare(root.der, certificate.der) === 0)) return true;
    return this.#rootsOf(certificate).some((root) => isValid(root, now));
  }

  #isInOrder(chain: readonly ParsedCertificate[], selfSigned: readonly boolean[]): boolean {
    for (const [index, certificate] of chain.entries()) {
      if (selfSigned[index] === true || this.#rootsOf(certificate).length > 0) return true;
      const issuer = chain[index + 1];
      if (issuer === undefined || !this.#isSignedBy(certificate, issuer)) return false;
    }
    return false;
  }

  #rootsOf(certificate: ParsedCertificate): ParsedCertificate[] {
    const roots = this.#roots.get(certificate.issuer) ?? [];
    return roots.filter((root) => this.#isSignedBy(certificate, root));
  }

  #isSignedBy(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
    if (certificate.issuer !== issuer.subject) return false;
    const key = `${certificate.record.fingerprint_hash.sha256} ${issuer.record.fingerprint_hash.sha256}`;
    const known = this.#signatures.get(key);
    if (known !== undefined) return known;
    if (this.#checksLeft === 0) return false;
    this.#checksLeft -= 1;
    const isSigned = verify(certificate, issuer);
    if (this.#signatures.size >= REMEMBERED_MAX) this.#signatures.clear();
    this.#signatures.set(key, isSigned);
    return isSigned;
  }
}

function mayIssue({ is_authority, path_length }: ParsedCertificate, authoritiesBelow: number): boolean {
  return is_authority && (path_length === null || authoritiesBelow <= path_length);
}

function isValid({ not_before_ms, not_after_ms }: ParsedCertificate, now: number): boolean {
  return not_before_ms <= now && now <= not_after_ms;
}

function verify(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
  try {
    return new X509Certificate(certificate.der).verify(new X509Certificate(issuer.der).publicKey);
  } catch {
    // Keys and algorithms unknown to OpenSSL cannot be verified.
    return false;
  }
}

let roots: ReadonlyMap<string, readonly ParsedCertificate[]> | null = null;

/** Parsed once: there are some hundreds, and no scan changes them. */
function knownRoots(): ReadonlyMap<string, readonly ParsedCertificate[]> {
  if (roots !== null) return roots;
  const texts = new Set([...getCACertificates('default'), ...getCACertificates('system')].map((pem) => pem.trim()));
  const found = [...texts].flatMap((text) => certificatesIn(text)).map((der) => parsedRoot(der));
  roots = bySubject(found.filter((root) => root !== null));
  return roots;
}

function parsedRoot(der: Uint8Array): ParsedCertificate | null {
  try {
    return parseCertificate(der);
  } catch (error) {
    // An unreadable system root signs nothing.
    if (error instanceof DerFault) return null;
    throw error;
  }
}

function ownRoots(text: string): ParsedCertificate[] {
  const found = certificatesIn(text).map((der) => parsedRoot(der));
  const readable = found.filter((root) => root !== null);
  if (readable.length === found.length && found.length > 0) return readable;
  const what = found.length === 0 ? 'a string without a PEM certificate' : 'a certificate that cannot be read';
  throw new HeddleError('VALIDATION_FAILED', `roots: ${what}`);
}

function certificatesIn(text: string): Buffer[] {
  const blocks = text.matchAll(/-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/g);
  return [...blocks].map((block) => Buffer.from(block[1]!, 'base64'));
}

function bySubject(certificates: readonly ParsedCertificate[]): Map<string, ParsedCertificate[]> {
  return Map.groupBy(certificates, ({ subject }) => subject);
}
