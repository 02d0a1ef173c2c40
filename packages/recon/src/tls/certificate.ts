import { createHash } from 'node:crypto';

import type { TlsCertificate } from '../records.ts';
import { DER_TAG, DerFault, DerReader, oidText, timeText } from './der.ts';
import { parseExtensions } from './certificate-extensions.ts';
import type { CertificateExtensions } from './certificate-extensions.ts';
import { commonNameOf, distinguishedName, organizationsOf } from './distinguished-name.ts';
import { CURVE_BITS, KEY_TYPES, RSASSA_PSS, SIGNATURE_ALGORITHMS, WEAK_HASHES } from './object-identifiers.ts';

/** A certificate as sent, with the fields that decide about trust. */
export interface ParsedCertificate extends CertificateExtensions {
  readonly der: Uint8Array;
  /** The reported fields; whether it is self-signed is decided during signature verification. */
  readonly record: Omit<TlsCertificate, 'self_signed'>;
  /** Names in DER: equal bytes are equal names. */
  readonly subject: string;
  readonly issuer: string;
  /** Milliseconds since the epoch. */
  readonly not_before_ms: number;
  readonly not_after_ms: number;
  readonly has_weak_signature: boolean;
}

export type Fingerprints = TlsCertificate['fingerprint_hash'];

const VERSION_TAG = 0xa0;
const EXTENSIONS_TAG = 0xa3;
const HASH_TAG = 0xa0;

/** @throws DerFault if the parsed fields are not those of a certificate */
export function parseCertificate(der: Uint8Array): ParsedCertificate {
  const outer = new DerReader(der).sequence();
  const body = outer.sequence();
  body.optional(VERSION_TAG);
  const serial = body.expect(DER_TAG.integer).content;
  const signature = signatureOf(body.sequence());
  const issuer = body.expect(DER_TAG.sequence);
  const validity = body.sequence();
  const not_before = timeText(validity.next());
  const not_after = timeText(validity.next());
  const subject = body.expect(DER_TAG.sequence);
  const key = keyOf(body.sequence());
  const extensions = extensionsOf(body);
  const commonName = commonNameOf(subject.content);
  return {
    ...extensions,
    der,
    subject: Buffer.from(subject.raw).toString('latin1'),
    issuer: Buffer.from(issuer.raw).toString('latin1'),
    not_before_ms: Date.parse(not_before),
    not_after_ms: Date.parse(not_after),
    has_weak_signature: signature.is_weak,
    record: {
      subject_dn: distinguishedName(subject.content),
      subject_cn: commonName,
      subject_org: organizationsOf(subject.content),
      subject_an: [...extensions.names],
      issuer_dn: distinguishedName(issuer.content),
      issuer_cn: commonNameOf(issuer.content),
      issuer_org: organizationsOf(issuer.content),
      serial: serialText(serial),
      not_before,
      not_after,
      key_type: key.type,
      key_bits: key.bits,
      signature_algorithm: signature.name,
      fingerprint_hash: fingerprintsOf(der),
    },
  };
}

export function fingerprintsOf(der: Uint8Array): Fingerprints {
  const digest = (algorithm: string): string => createHash(algorithm).update(der).digest('hex');
  return { md5: digest('md5'), sha1: digest('sha1'), sha256: digest('sha256') };
}

function extensionsOf(body: DerReader): CertificateExtensions {
  while (body.hasMore) {
    const value = body.next();
    if (value.tag === EXTENSIONS_TAG) return parseExtensions(new DerReader(value.content).sequence());
  }
  return parseExtensions(new DerReader(new Uint8Array(0)));
}

function signatureOf(algorithm: DerReader): { name: string; is_weak: boolean } {
  const oid = oidText(algorithm.expect(DER_TAG.oid).content);
  const known = SIGNATURE_ALGORITHMS[oid];
  if (oid === RSASSA_PSS) return { name: known!.name, is_weak: WEAK_HASHES.has(hashOfPss(algorithm)) };
  return known ?? { name: oid, is_weak: false };
}

function hashOfPss(algorithm: DerReader): string {
  const sha1 = '1.3.14.3.2.26';
  const parameters = algorithm.optional(DER_TAG.sequence);
  const hash = parameters === null ? null : new DerReader(parameters.content).optional(HASH_TAG);
  if (hash === null) return sha1;
  return oidText(new DerReader(hash.content).sequence().expect(DER_TAG.oid).content);
}

function keyOf(info: DerReader): { type: string; bits: number | null } {
  const algorithm = info.sequence();
  const oid = oidText(algorithm.expect(DER_TAG.oid).content);
  const key = info.expect(DER_TAG.bit_string).content.subarray(1);
  const { type, bits } = KEY_TYPES[oid] ?? { type: oid };
  switch (type) {
    case 'RSA':
    case 'RSA-PSS':
      return { type, bits: integerBits(new DerReader(key).sequence()) };
    case 'DSA':
      return { type, bits: algorithm.nextTag === DER_TAG.sequence ? integerBits(algorithm.sequence()) : null };
    case 'EC':
      return { type, bits: curveBits(algorithm, key) };
    default:
      return { type, bits: bits ?? null };
  }
}

/** Returns the bit length of the first integer: the modulus of RSA, the prime of DSA. */
function integerBits(values: DerReader): number {
  const digits = values.expect(DER_TAG.integer).content;
  const first = digits.findIndex((byte) => byte !== 0);
  if (first < 0) return 0;
  return (digits.length - first) * 8 - Math.clz32(digits[first]!) + 24;
}

/** A point is a format byte and one or both coordinates. */
function curveBits(algorithm: DerReader, point: Uint8Array): number {
  const curve = algorithm.optional(DER_TAG.oid);
  const known = curve === null ? undefined : CURVE_BITS[oidText(curve.content)];
  if (known !== undefined) return known;
  if (point.length < 2) throw new DerFault('a key without a point');
  const isCompressed = point[0] === 2 || point[0] === 3;
  return ((point.length - 1) * 8) / (isCompressed ? 1 : 2);
}

/** Returns hexadecimal bytes, without the zero that only marks a positive number. */
function serialText(content: Uint8Array): string {
  const digits = content.length > 1 && content[0] === 0 ? content.subarray(1) : content;
  return Buffer.from(digits).toString('hex').toUpperCase().match(/../g)?.join(':') ?? '';
}
