import { createPrivateKey, generateKeyPairSync, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

import './reflect-metadata.ts';
import * as x509 from '@peculiar/x509';

import type { Random } from '@heddle/base/random';
import { CLIENT_URI_PREFIX } from './identity.ts';

const DAY_MS = 86_400_000;
export const AUTHORITY_DAYS = 365;
export const CERTIFICATE_DAYS = 30;
/** Certificates start slightly in the past, to tolerate clock differences. */
const EARLY_MS = 300_000;
const SERIAL_BYTES = 16;
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };
const CURVE = { name: 'ECDSA', namedCurve: 'P-256' };

/** A certificate and its private key, in PEM. */
export interface IssuedCertificate {
  readonly cert: string;
  readonly key: string;
}

interface Issue {
  readonly subject: string;
  readonly days: number;
  readonly nowMs: number;
  readonly random: Random;
  readonly extensions: x509.Extension[];
  readonly issuer?: IssuedCertificate;
}

/** Creates an authority for development: EC P-256, valid for a year. @param nowMs milliseconds since the epoch */
export function makeAuthority(nowMs: number, random: Random): Promise<IssuedCertificate> {
  const extensions = [
    new x509.BasicConstraintsExtension(true, 0, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
  ];
  return issue({ subject: 'CN=Heddle development authority', days: AUTHORITY_DAYS, nowMs, random, extensions });
}

/** Creates a server certificate, valid for 30 days. @param hosts DNS names and addresses */
export function makeServerCertificate(
  issuer: IssuedCertificate,
  hosts: readonly string[],
  nowMs: number,
  random: Random,
): Promise<IssuedCertificate> {
  const names = hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value }));
  const extensions = leafExtensions(names, SERVER_AUTH);
  return issue({ subject: 'CN=heddle executor', days: CERTIFICATE_DAYS, nowMs, random, extensions, issuer });
}

/** Creates a client certificate, valid for 30 days, which names the client as the URI `heddle:client:NAME`. */
export function makeClientCertificate(
  issuer: IssuedCertificate,
  client: string,
  nowMs: number,
  random: Random,
): Promise<IssuedCertificate> {
  const extensions = leafExtensions([{ type: 'url', value: CLIENT_URI_PREFIX + client }], CLIENT_AUTH);
  return issue({ subject: 'CN=heddle client', days: CERTIFICATE_DAYS, nowMs, random, extensions, issuer });
}

/**
 * Creates the authority's revocation list, valid for 30 days, from a previous list and the given certificates.
 *
 * @param before PEM; null if there is none
 */
export async function makeRevocationList(
  issuer: IssuedCertificate,
  before: string | null,
  certificates: readonly string[],
  nowMs: number,
): Promise<string> {
  const listed = before === null ? [] : new x509.X509Crl(before).entries;
  const added = certificates.map((pem) => new x509.X509Certificate(pem).serialNumber);
  const entries = new Map(listed.map(({ serialNumber, revocationDate }) => [serialNumber, revocationDate]));
  for (const serialNumber of added) if (!entries.has(serialNumber)) entries.set(serialNumber, new Date(nowMs));
  const authority = new x509.X509Certificate(issuer.cert);
  const list = await x509.X509CrlGenerator.create({
    issuer: authority.subject,
    thisUpdate: new Date(nowMs - EARLY_MS),
    nextUpdate: new Date(nowMs + CERTIFICATE_DAYS * DAY_MS),
    entries: [...entries].map(([serialNumber, revocationDate]) => ({ serialNumber, revocationDate })),
    extensions: [await x509.AuthorityKeyIdentifierExtension.create(authority.publicKey)],
    signingKey: await signingKey(issuer.key),
    signingAlgorithm: SIGNATURE,
  });
  return `${x509.PemConverter.encode(list.rawData, 'X509 CRL')}\n`;
}

function leafExtensions(names: { type: 'dns' | 'ip' | 'url'; value: string }[], usage: string): x509.Extension[] {
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([usage]),
    new x509.SubjectAlternativeNameExtension(names),
  ];
}

async function issue({ subject, days, nowMs, random, extensions, issuer }: Issue): Promise<IssuedCertificate> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const serial = random.bytes(SERIAL_BYTES);
  // Positive, and without a leading zero byte, which encoders would drop.
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const authority = issuer === undefined ? null : new x509.X509Certificate(issuer.cert);
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: Buffer.from(serial).toString('hex'),
    subject,
    issuer: authority?.subject ?? subject,
    notBefore: new Date(nowMs - EARLY_MS),
    notAfter: new Date(nowMs + days * DAY_MS),
    publicKey: spki,
    signingKey: await signingKey(issuer?.key ?? key),
    signingAlgorithm: SIGNATURE,
    extensions: [
      ...extensions,
      await x509.SubjectKeyIdentifierExtension.create(new x509.PublicKey(spki)),
      await x509.AuthorityKeyIdentifierExtension.create(authority?.publicKey ?? new x509.PublicKey(spki)),
    ],
  });
  return { cert: `${certificate.toString('pem')}\n`, key };
}

function signingKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' });
  return webcrypto.subtle.importKey('pkcs8', der, CURVE, false, ['sign']);
}
