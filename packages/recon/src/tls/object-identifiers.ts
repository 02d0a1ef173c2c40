/** Name attributes by the keywords of RFC 4514, plus other common ones. */
export const ATTRIBUTE_NAMES: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.4': 'SN',
  '2.5.4.5': 'SERIALNUMBER',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.9': 'STREET',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '2.5.4.12': 'title',
  '2.5.4.13': 'description',
  '2.5.4.15': 'businessCategory',
  '2.5.4.17': 'POSTALCODE',
  '2.5.4.42': 'GN',
  '2.5.4.46': 'dnQualifier',
  '2.5.4.97': 'organizationIdentifier',
  '0.9.2342.19200300.100.1.1': 'UID',
  '0.9.2342.19200300.100.1.25': 'DC',
  '1.2.840.113549.1.9.1': 'emailAddress',
  '1.3.6.1.4.1.311.60.2.1.1': 'jurisdictionL',
  '1.3.6.1.4.1.311.60.2.1.2': 'jurisdictionST',
  '1.3.6.1.4.1.311.60.2.1.3': 'jurisdictionC',
};

export interface SignatureAlgorithm {
  readonly name: string;
  /** Uses MD2, MD4, MD5 or SHA-1, which are open to collisions. */
  readonly is_weak: boolean;
}

const weak = (name: string): SignatureAlgorithm => ({ name, is_weak: true });
const sound = (name: string): SignatureAlgorithm => ({ name, is_weak: false });

export const RSASSA_PSS = '1.2.840.113549.1.1.10';

/** Signature algorithms by their OpenSSL names; that of RSASSA-PSS depends on its parameters. */
export const SIGNATURE_ALGORITHMS: Readonly<Record<string, SignatureAlgorithm>> = {
  '1.2.840.113549.1.1.2': weak('md2WithRSAEncryption'),
  '1.2.840.113549.1.1.3': weak('md4WithRSAEncryption'),
  '1.2.840.113549.1.1.4': weak('md5WithRSAEncryption'),
  '1.2.840.113549.1.1.5': weak('sha1WithRSAEncryption'),
  '1.3.14.3.2.29': weak('sha1WithRSA'),
  '1.3.14.3.2.27': weak('dsaWithSHA1'),
  [RSASSA_PSS]: sound('rsassaPss'),
  '1.2.840.113549.1.1.11': sound('sha256WithRSAEncryption'),
  '1.2.840.113549.1.1.12': sound('sha384WithRSAEncryption'),
  '1.2.840.113549.1.1.13': sound('sha512WithRSAEncryption'),
  '1.2.840.113549.1.1.14': sound('sha224WithRSAEncryption'),
  '1.2.840.10045.4.1': weak('ecdsa-with-SHA1'),
  '1.2.840.10045.4.3.1': sound('ecdsa-with-SHA224'),
  '1.2.840.10045.4.3.2': sound('ecdsa-with-SHA256'),
  '1.2.840.10045.4.3.3': sound('ecdsa-with-SHA384'),
  '1.2.840.10045.4.3.4': sound('ecdsa-with-SHA512'),
  '1.2.840.10040.4.3': weak('dsaWithSHA1'),
  '2.16.840.1.101.3.4.3.1': sound('dsa_with_SHA224'),
  '2.16.840.1.101.3.4.3.2': sound('dsa_with_SHA256'),
  '2.16.840.1.101.3.4.3.17': sound('ML-DSA-44'),
  '2.16.840.1.101.3.4.3.18': sound('ML-DSA-65'),
  '2.16.840.1.101.3.4.3.19': sound('ML-DSA-87'),
  '1.3.101.112': sound('ED25519'),
  '1.3.101.113': sound('ED448'),
  '1.2.156.10197.1.501': sound('SM2-with-SM3'),
};

/** Weak hashes in RSASSA-PSS parameters; SHA-1 is the default. */
export const WEAK_HASHES: ReadonlySet<string> = new Set(['1.3.14.3.2.26', '1.2.840.113549.2.5', '1.2.840.113549.2.2']);

export const KEY_TYPES: Readonly<Record<string, { type: string; bits?: number }>> = {
  '1.2.840.113549.1.1.1': { type: 'RSA' },
  '1.2.840.113549.1.1.7': { type: 'RSA' },
  [RSASSA_PSS]: { type: 'RSA-PSS' },
  '1.2.840.10045.2.1': { type: 'EC' },
  '1.2.840.10040.4.1': { type: 'DSA' },
  '1.3.101.112': { type: 'Ed25519', bits: 256 },
  '1.3.101.113': { type: 'Ed448', bits: 456 },
  '2.16.840.1.101.3.4.3.17': { type: 'ML-DSA-44' },
  '2.16.840.1.101.3.4.3.18': { type: 'ML-DSA-65' },
  '2.16.840.1.101.3.4.3.19': { type: 'ML-DSA-87' },
};

/** Key sizes of curves that the point length does not reveal. */
export const CURVE_BITS: Readonly<Record<string, number>> = {
  '1.3.132.0.35': 521,
};
