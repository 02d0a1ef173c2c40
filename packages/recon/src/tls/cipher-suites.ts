import type { TlsVersion } from '../records.ts';

const DH_FAMILY = 'RSA DH_DSS DH_RSA DHE_DSS DHE_RSA DH_anon';
const GCM_FAMILY = 'RSA DHE_RSA DH_RSA DHE_DSS DH_DSS DH_anon';
const PSK_FAMILY = 'PSK DHE_PSK RSA_PSK';
const EC_FAMILY = 'ECDHE_ECDSA ECDH_ECDSA ECDHE_RSA ECDH_RSA';
const EC_LEGACY = 'ECDH_ECDSA ECDHE_ECDSA ECDH_RSA ECDHE_RSA ECDH_anon';
const GCM_PAIR = 'AES_128_GCM_SHA256 AES_256_GCM_SHA384';
const EXPORT_40 = 'EXPORT_WITH_DES40_CBC_SHA WITH_DES_CBC_SHA WITH_3DES_EDE_CBC_SHA';

/**
 * IANA's registry of cipher suites as runs: the first number, the key exchanges, the ciphers. Numbers increase by one
 * per pair, with the key exchange changing slowest. A part that contains `WITH_` is used unchanged.
 */
const RUNS: readonly (readonly [first: number, exchanges: string, encryptions: string])[] = [
  [0x0000, 'NULL', 'NULL_NULL'],
  [0x0001, 'RSA', 'NULL_MD5 NULL_SHA EXPORT_WITH_RC4_40_MD5 RC4_128_MD5 RC4_128_SHA EXPORT_WITH_RC2_CBC_40_MD5'],
  [0x0007, 'RSA', `IDEA_CBC_SHA ${EXPORT_40}`],
  [0x000b, 'DH_DSS DH_RSA DHE_DSS DHE_RSA', EXPORT_40],
  [0x0017, 'DH_anon', `EXPORT_WITH_RC4_40_MD5 RC4_128_MD5 ${EXPORT_40}`],
  [0x001e, 'KRB5', 'DES_CBC_SHA 3DES_EDE_CBC_SHA RC4_128_SHA IDEA_CBC_SHA'],
  [0x0022, 'KRB5', 'DES_CBC_MD5 3DES_EDE_CBC_MD5 RC4_128_MD5 IDEA_CBC_MD5'],
  [0x0026, 'KRB5', 'EXPORT_WITH_DES_CBC_40_SHA EXPORT_WITH_RC2_CBC_40_SHA EXPORT_WITH_RC4_40_SHA'],
  [0x0029, 'KRB5', 'EXPORT_WITH_DES_CBC_40_MD5 EXPORT_WITH_RC2_CBC_40_MD5 EXPORT_WITH_RC4_40_MD5'],
  [0x002c, PSK_FAMILY, 'NULL_SHA'],
  [0x002f, DH_FAMILY, 'AES_128_CBC_SHA'],
  [0x0035, DH_FAMILY, 'AES_256_CBC_SHA'],
  [0x003b, 'RSA', 'NULL_SHA256 AES_128_CBC_SHA256 AES_256_CBC_SHA256'],
  [0x003e, 'DH_DSS DH_RSA DHE_DSS', 'AES_128_CBC_SHA256'],
  [0x0041, DH_FAMILY, 'CAMELLIA_128_CBC_SHA'],
  [0x0067, 'DHE_RSA', 'AES_128_CBC_SHA256'],
  [0x0068, 'DH_DSS DH_RSA DHE_DSS DHE_RSA', 'AES_256_CBC_SHA256'],
  [0x006c, 'DH_anon', 'AES_128_CBC_SHA256 AES_256_CBC_SHA256'],
  [0x0084, DH_FAMILY, 'CAMELLIA_256_CBC_SHA'],
  [0x008a, PSK_FAMILY, 'RC4_128_SHA 3DES_EDE_CBC_SHA AES_128_CBC_SHA AES_256_CBC_SHA'],
  [0x0096, DH_FAMILY, 'SEED_CBC_SHA'],
  [0x009c, GCM_FAMILY, GCM_PAIR],
  [0x00a8, PSK_FAMILY, GCM_PAIR],
  [0x00ae, PSK_FAMILY, 'AES_128_CBC_SHA256 AES_256_CBC_SHA384 NULL_SHA256 NULL_SHA384'],
  [0x00ba, DH_FAMILY, 'CAMELLIA_128_CBC_SHA256'],
  [0x00c0, DH_FAMILY, 'CAMELLIA_256_CBC_SHA256'],
  [0x00c6, '', 'SM4_GCM_SM3 SM4_CCM_SM3'],
  [0x1301, '', 'AES_128_GCM_SHA256 AES_256_GCM_SHA384 CHACHA20_POLY1305_SHA256 AES_128_CCM_SHA256'],
  [0x1305, '', 'AES_128_CCM_8_SHA256 AEGIS_256_SHA512 AEGIS_128L_SHA256'],
  [0xc001, EC_LEGACY, 'NULL_SHA RC4_128_SHA 3DES_EDE_CBC_SHA AES_128_CBC_SHA AES_256_CBC_SHA'],
  [0xc01a, 'SRP_SHA SRP_SHA_RSA SRP_SHA_DSS', '3DES_EDE_CBC_SHA'],
  [0xc01d, 'SRP_SHA SRP_SHA_RSA SRP_SHA_DSS', 'AES_128_CBC_SHA'],
  [0xc020, 'SRP_SHA SRP_SHA_RSA SRP_SHA_DSS', 'AES_256_CBC_SHA'],
  [0xc023, EC_FAMILY, 'AES_128_CBC_SHA256 AES_256_CBC_SHA384'],
  [0xc02b, EC_FAMILY, GCM_PAIR],
  [0xc033, 'ECDHE_PSK', 'RC4_128_SHA 3DES_EDE_CBC_SHA AES_128_CBC_SHA AES_256_CBC_SHA AES_128_CBC_SHA256'],
  [0xc038, 'ECDHE_PSK', 'AES_256_CBC_SHA384 NULL_SHA NULL_SHA256 NULL_SHA384'],
  [0xc03c, `${DH_FAMILY} ${EC_FAMILY}`, 'ARIA_128_CBC_SHA256 ARIA_256_CBC_SHA384'],
  [0xc050, `${GCM_FAMILY} ${EC_FAMILY}`, 'ARIA_128_GCM_SHA256 ARIA_256_GCM_SHA384'],
  [0xc064, PSK_FAMILY, 'ARIA_128_CBC_SHA256 ARIA_256_CBC_SHA384'],
  [0xc06a, PSK_FAMILY, 'ARIA_128_GCM_SHA256 ARIA_256_GCM_SHA384'],
  [0xc070, 'ECDHE_PSK', 'ARIA_128_CBC_SHA256 ARIA_256_CBC_SHA384'],
  [0xc072, EC_FAMILY, 'CAMELLIA_128_CBC_SHA256 CAMELLIA_256_CBC_SHA384'],
  [0xc07a, `${GCM_FAMILY} ${EC_FAMILY} ${PSK_FAMILY}`, 'CAMELLIA_128_GCM_SHA256 CAMELLIA_256_GCM_SHA384'],
  [0xc094, `${PSK_FAMILY} ECDHE_PSK`, 'CAMELLIA_128_CBC_SHA256 CAMELLIA_256_CBC_SHA384'],
  [0xc09c, 'RSA DHE_RSA', 'AES_128_CCM AES_256_CCM'],
  [0xc0a0, 'RSA DHE_RSA', 'AES_128_CCM_8 AES_256_CCM_8'],
  [0xc0a4, 'PSK DHE_PSK', 'AES_128_CCM AES_256_CCM'],
  [0xc0a8, 'PSK PSK_DHE', 'AES_128_CCM_8 AES_256_CCM_8'],
  [0xc0ac, 'ECDHE_ECDSA', 'AES_128_CCM AES_256_CCM AES_128_CCM_8 AES_256_CCM_8'],
  [0xc0b0, 'ECCPWD', `${GCM_PAIR} AES_128_CCM_SHA256 AES_256_CCM_SHA384`],
  [0xc0b4, '', 'SHA256_SHA256 SHA384_SHA384'],
  [0xc100, 'GOSTR341112_256', 'KUZNYECHIK_CTR_OMAC MAGMA_CTR_OMAC 28147_CNT_IMIT'],
  [0xc103, 'GOSTR341112_256', 'KUZNYECHIK_MGM_L MAGMA_MGM_L KUZNYECHIK_MGM_S MAGMA_MGM_S'],
  [0xcca8, 'ECDHE_RSA ECDHE_ECDSA DHE_RSA PSK ECDHE_PSK DHE_PSK RSA_PSK', 'CHACHA20_POLY1305_SHA256'],
  [0xd001, 'ECDHE_PSK', `${GCM_PAIR} AES_128_CCM_8_SHA256`],
  [0xd005, 'ECDHE_PSK', 'AES_128_CCM_SHA256'],
];

/** Names by number. */
const NAMES: ReadonlyMap<number, string> = new Map(RUNS.flatMap((run) => expand(...run)));

function expand(first: number, exchanges: string, encryptions: string): [number, string][] {
  const encryptionNames = encryptions.split(' ');
  return exchanges
    .split(' ')
    .flatMap((exchange) => encryptionNames.map((encryption) => nameOf(exchange, encryption)))
    .map((name, index) => [first + index, name]);
}

function nameOf(exchange: string, encryption: string): string {
  if (exchange === '') return `TLS_${encryption}`;
  return encryption.includes('WITH_') ? `TLS_${exchange}_${encryption}` : `TLS_${exchange}_WITH_${encryption}`;
}

/** Returns IANA's name of a suite; `0x1A2B` for an unassigned number. */
export function cipherName(code: number): string {
  return NAMES.get(code) ?? `0x${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

export function cipherCodes(): readonly number[] {
  return [...NAMES.keys()];
}

/** Returns all registered suites that a server of this version may choose. */
export function ciphersOf(version: TlsVersion): readonly number[] {
  return SUITES[version];
}

const SUITES: Readonly<Record<TlsVersion, readonly number[]>> = {
  ssl30: select((name) => isLegacy(name) && !/ECDHE?_|SRP_/.test(name)),
  tls10: select(isLegacy),
  tls11: select(isLegacy),
  tls12: select((name) => !isOfTls13(name)),
  tls13: select(isOfTls13),
};

function select(matches: (name: string) => boolean): number[] {
  return [...NAMES].filter(([code, name]) => code !== 0 && matches(name)).map(([code]) => code);
}

/** Suites of TLS 1.3 have no key exchange in their names; those of GOST are recognized by their mode. */
function isOfTls13(name: string): boolean {
  return !name.includes('_WITH_') || name.includes('_MGM_');
}

/** Returns whether TLS 1.1 and older know the suite: MACs with MD5 and SHA-1. */
function isLegacy(name: string): boolean {
  return !isOfTls13(name) && /_(?:MD5|SHA)$/.test(name);
}

/** Returns whether a suite is unacceptable: no encryption, no authentication, export keys, small blocks, RC4, MD5. */
export function isWeakCipher(name: string): boolean {
  return /_NULL_|_anon_|_EXPORT_|_RC4_|_RC2_|_DES_|_DES40_|_3DES_|_IDEA_|_28147_|_MD5$|^TLS_SHA(?:256|384)_/.test(name);
}

/**
 * Suites of the first offer, best first: enough for every server that authenticates itself, short enough for old ones.
 */
export const FIRST_OFFER: readonly number[] = [
  ...[0x1301, 0x1302, 0x1303, 0x1304, 0x1305],
  ...[0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc0ac, 0xc0ad, 0xc0ae, 0xc0af, 0x009e, 0x009f, 0xccaa, 0xc09e],
  ...[0xc09f, 0xc023, 0xc027, 0xc024, 0xc028, 0xc009, 0xc013, 0xc00a, 0xc014, 0x0067, 0x006b, 0x0033, 0x0039, 0x00a2],
  ...[0x00a3, 0x0040, 0x006a, 0x0032, 0x0038, 0xc05c, 0xc05d, 0xc060, 0xc061, 0xc072, 0xc073, 0xc076, 0xc077],
  ...[0x0045, 0x0088, 0x009c, 0x009d, 0xc09c, 0xc09d, 0xc0a0, 0xc0a1, 0x003c, 0x003d, 0x002f, 0x0035, 0x0041, 0x0084],
  ...[0x0096, 0xc008, 0xc012, 0x0016, 0x0013, 0x000a, 0xc007, 0xc011, 0x0005, 0x0004, 0x0007, 0x0015, 0x0009],
  ...[0x0003, 0x0006, 0x0008, 0x0014, 0xc006, 0xc010, 0x003b, 0x0002, 0x0001, 0xc018, 0xc019, 0x00a6, 0x0034, 0x003a],
  ...[0x0018, 0x001b],
];
