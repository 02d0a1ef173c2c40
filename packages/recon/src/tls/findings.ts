import type { TlsFinding, TlsVersion } from '../records.ts';
import type { ParsedCertificate } from './certificate.ts';
import { isWeakCipher } from './cipher-suites.ts';

export interface CertificateFacts {
  readonly chain: readonly ParsedCertificate[];
  readonly self_signed: readonly boolean[];
  readonly expired: boolean;
  readonly not_yet_valid: boolean;
  readonly mismatched: boolean;
  readonly untrusted: boolean;
  readonly broken: boolean;
}

const RSA_BITS_MIN = 2048;
const CURVE_BITS_MIN = 256;

/** Returns the problems of a server's certificates. */
export function certificateFindings(facts: CertificateFacts): TlsFinding[] {
  const { chain, self_signed } = facts;
  const wrong: readonly (readonly [TlsFinding, boolean])[] = [
    ['expired', facts.expired],
    ['not_yet_valid', facts.not_yet_valid],
    ['self_signed', self_signed[0] === true],
    ['mismatched', facts.mismatched],
    ['untrusted', facts.untrusted],
    ['broken_chain', facts.broken],
    ['weak_key', chain.some((certificate) => hasWeakKey(certificate))],
    // The signature of a root is not relied upon.
    [
      'weak_signature',
      chain.some(({ has_weak_signature }, at) => has_weak_signature && (at === 0 || !self_signed[at])),
    ],
  ];
  return wrong.filter(([, holds]) => holds).map(([finding]) => finding);
}

/** Returns the problems of a server's versions and ciphers. */
export function protocolFindings(versions: readonly TlsVersion[], ciphers: readonly string[]): TlsFinding[] {
  const findings: TlsFinding[] = [];
  if (versions.some((version) => version === 'ssl30' || version === 'tls10' || version === 'tls11'))
    findings.push('weak_version');
  if (ciphers.some((cipher) => isWeakCipher(cipher))) findings.push('weak_cipher');
  return findings;
}

function hasWeakKey({ record: { key_type, key_bits } }: ParsedCertificate): boolean {
  if (key_bits === null) return false;
  if (key_type === 'EC') return key_bits < CURVE_BITS_MIN;
  return ['RSA', 'RSA-PSS', 'DSA'].includes(key_type) && key_bits < RSA_BITS_MIN;
}
