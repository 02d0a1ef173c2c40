/** Valid certificates, and certificates that no authority would sign. */
import './metadata.ts';

import { webcrypto } from 'node:crypto';

import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { ZONE, type CertificateName } from './plan.ts';

/** PEM. */
export interface Pair {
  certificate: string;
  key: string;
}

interface Wish {
  names: readonly string[];
  /** Days from now; negative for the past. */
  from: number;
  until: number;
  /** Self-signed instead of signed by the authority. */
  self?: 'strong' | 'weak';
}

const of = (...labels: string[]): string[] => labels.map((label) => `${label}.${ZONE}`);

const WISHES: Record<CertificateName, Wish> = {
  www: { names: [ZONE, ...of('www', 'cdn', 'docs')], from: -20, until: 70 },
  api: { names: of('api'), from: -40, until: 50 },
  mail: { names: of('mail'), from: -81, until: 9 },
  shop: { names: of('shop'), from: -93, until: -3 },
  git: { names: of('git'), from: -200, until: 3450, self: 'strong' },
  vpn: { names: ['gateway.elsewhere.test'], from: -10, until: 80 },
  legacy: { names: of('legacy'), from: -2900, until: 750, self: 'weak' },
};
const AUTHORITY: Wish = { names: ['Surface Test Authority'], from: -900, until: 2750 };

const { subtle } = webcrypto;
const STRONG = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
/** RSA with 1,024 bits and SHA-1. */
const WEAK = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-1',
  modulusLength: 1024,
  publicExponent: new Uint8Array([1, 0, 1]),
} as const;
const DAY_MS = 86_400_000;

export function makeAuthority(): Promise<Pair> {
  return make(AUTHORITY, null, null);
}

/**
 * Creates a new key, a new serial number, and dates relative to now.
 * @param address is among the names of the certificate, unless the certificate is for another host
 */
export function makeCertificate(
  name: CertificateName,
  { authority, address, renewed }: { authority: Pair; address: string; renewed: boolean },
): Promise<Pair> {
  const wish = WISHES[name];
  // Renewed certificates were signed just now.
  return make(renewed ? { ...wish, from: 0, until: 90 } : wish, authority, address);
}

async function make({ names, from, until, self }: Wish, authority: Pair | null, address: string | null): Promise<Pair> {
  const algorithm = self === 'weak' ? WEAK : STRONG;
  const keys = await subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const now = Date.now();
  const name = `CN=${names[0]!}, O=Surface`;
  const isAuthority = authority === null;
  const isOurs = names.some((each) => each.endsWith(ZONE));
  const alternatives = [
    ...names.map((value) => ({ type: 'dns' as const, value })),
    ...(isOurs && address !== null ? [{ type: 'ip' as const, value: address }] : []),
  ];
  const content = {
    serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(12)).with(0, 1)).toString('hex'),
    notBefore: new Date(now + from * DAY_MS),
    notAfter: new Date(now + until * DAY_MS),
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(isAuthority, undefined, true),
      ...(isAuthority ? [] : [new SubjectAlternativeNameExtension(alternatives)]),
    ],
  };
  const made =
    isAuthority || self !== undefined
      ? await X509CertificateGenerator.createSelfSigned({ ...content, name, keys })
      : await X509CertificateGenerator.create({
          ...content,
          subject: name,
          issuer: new X509Certificate(authority.certificate).subject,
          publicKey: keys.publicKey,
          signingKey: await privateKeyOf(authority),
        });
  return {
    certificate: made.toString('pem'),
    key: PemConverter.encode(await subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY'),
  };
}

function privateKeyOf({ key }: Pair): Promise<webcrypto.CryptoKey> {
  return subtle.importKey('pkcs8', PemConverter.decodeFirst(key), STRONG, false, ['sign']);
}
