import type { TlsRecord } from '../records.ts';
import { fingerprintsOf, parseCertificate } from './certificate.ts';
import type { ParsedCertificate } from './certificate.ts';
import { DerFault } from './der.ts';
import { certificateFindings } from './findings.ts';
import { coversHost, isWildcard } from './host-name.ts';
import type { TrustStore } from './trust.ts';

const PARSED_MAX = 1024;
const PARSED_BYTES_MAX = 8192;

/** Converts chains to record members; caches parsed certificates, since authorities recur. */
export class CertificateReader {
  readonly #trust: TrustStore;
  readonly #parsed = new Map<string, ParsedCertificate>();

  constructor(trust: TrustStore) {
    this.#trust = trust;
  }

  /**
   * Returns the record members of a chain; `error` if the server's own certificate cannot be read.
   *
   * @param now milliseconds since the epoch
   */
  describe(sent: readonly Uint8Array[], host: string, now: number): Partial<TlsRecord> {
    const first = sent[0];
    if (first === undefined) return {};
    const leaf = this.#parse(first);
    if (leaf === null) return { fingerprint_hash: fingerprintsOf(first), error: 'malformed: the certificate' };
    const above = sent.slice(1).map((der) => this.#parse(der));
    // An unreadable certificate certifies nothing: the chain ends before it.
    const unreadable = above.indexOf(null);
    const readable = (unreadable < 0 ? above : above.slice(0, unreadable)).filter((one) => one !== null);
    return this.#members([leaf, ...readable], host, now);
  }

  #members(chain: readonly ParsedCertificate[], host: string, now: number): Partial<TlsRecord> {
    const [leaf, ...above] = chain as [ParsedCertificate, ...ParsedCertificate[]];
    const { self_signed, untrusted, broken } = this.#trust.judge(chain, now);
    const expired = now > leaf.not_after_ms;
    const mismatched = !coversHost(leaf, host);
    const not_yet_valid = now < leaf.not_before_ms;
    return {
      ...leaf.record,
      wildcard_certificate: isWildcard(leaf),
      expired,
      self_signed: self_signed[0]!,
      mismatched,
      untrusted,
      findings: certificateFindings({ chain, self_signed, expired, not_yet_valid, mismatched, untrusted, broken }),
      chain: above.map(({ record }, index) => ({ ...record, self_signed: self_signed[index + 1]! })),
    };
  }

  #parse(der: Uint8Array): ParsedCertificate | null {
    const key = der.length <= PARSED_BYTES_MAX ? Buffer.from(der).toString('latin1') : null;
    const known = key === null ? undefined : this.#parsed.get(key);
    if (known !== undefined) return known;
    try {
      const parsed = parseCertificate(der);
      if (this.#parsed.size >= PARSED_MAX) this.#parsed.clear();
      if (key !== null) this.#parsed.set(key, parsed);
      return parsed;
    } catch (error) {
      if (error instanceof DerFault) return null;
      throw error;
    }
  }
}
