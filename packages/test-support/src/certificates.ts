import { createPrivateKey, generateKeyPairSync, webcrypto } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import '@heddle/executor/internal/security/reflect-metadata';
import * as x509 from '@peculiar/x509';

export type KeyKind = 'rsa1024' | 'rsa2048' | 'ec224' | 'ec256' | 'ec384' | 'ed25519';

/** A certificate with its key, in the forms that servers and tests take. */
export interface Issued {
  readonly pem: string;
  readonly der: Buffer;
  readonly key: string;
  readonly certificate: x509.X509Certificate;
  readonly privateKey: KeyObject;
}

export interface CertificateRequest {
  /** Common name, and, of leaves, the first of the names. */
  readonly name: string;
  /** DNS names and addresses; default: the name. None: no such extension. */
  readonly names?: readonly string[];
  readonly key?: KeyKind;
  readonly issuer?: Issued;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly hash?: 'SHA-1' | 'SHA-256' | 'SHA-384';
  readonly authority?: boolean;
  readonly pathLength?: number;
  /** Object identifiers of extended key usages. */
  readonly usages?: readonly string[];
  /** The whole name of the subject instead of `CN=name`. */
  readonly subject?: string;
  readonly extensions?: readonly x509.Extension[];
}

const DAY_MS = 86_400_000;
/** A time at which certificates without times of their own are valid. */
const REFERENCE_MS = Date.now();

let serial = 1;

/** Makes a certificate, signed by its issuer, or by itself. */
export async function makeCertificate(request: CertificateRequest): Promise<Issued> {
  const { issuer, hash = 'SHA-256' } = request;
  const { publicKey, privateKey } = newKey(request.key ?? 'ec256');
  const signer = issuer?.privateKey ?? privateKey;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: (0x10000 + serial++).toString(16).padStart(8, '0'),
    subject: request.subject ?? `CN=${request.name}`,
    issuer: issuer?.certificate.subject ?? request.subject ?? `CN=${request.name}`,
    notBefore: request.notBefore ?? new Date(REFERENCE_MS - DAY_MS),
    notAfter: request.notAfter ?? new Date(REFERENCE_MS + 30 * DAY_MS),
    publicKey: publicKey.export({ format: 'der', type: 'spki' }),
    signingKey: await signingKey(signer, hash),
    signingAlgorithm: { name: signatureName(signer), hash },
    extensions: extensionsOf(request),
  });
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  return {
    pem: `${certificate.toString('pem')}\n`,
    der: Buffer.from(certificate.rawData),
    key,
    certificate,
    privateKey,
  };
}

/** A root, an authority below it, and leaves by name. */
export async function makeHierarchy(): Promise<{ root: Issued; intermediate: Issued }> {
  const root = await makeCertificate({ name: 'Test Root', authority: true });
  const intermediate = await makeCertificate({ name: 'Test Authority', authority: true, issuer: root, pathLength: 0 });
  return { root, intermediate };
}

function extensionsOf(request: CertificateRequest): x509.Extension[] {
  const extensions: x509.Extension[] = [...(request.extensions ?? [])];
  if (request.authority === true) extensions.push(new x509.BasicConstraintsExtension(true, request.pathLength, true));
  const names = request.names ?? (request.authority === true ? [] : [request.name]);
  const entries = names.map((value) => ({
    type: /^[\d.]+$|:/.test(value) ? ('ip' as const) : ('dns' as const),
    value,
  }));
  if (entries.length > 0) extensions.push(new x509.SubjectAlternativeNameExtension(entries));
  if (request.usages !== undefined) extensions.push(new x509.ExtendedKeyUsageExtension([...request.usages]));
  return extensions;
}

function newKey(kind: KeyKind): { publicKey: KeyObject; privateKey: KeyObject } {
  switch (kind) {
    case 'rsa1024':
      return generateKeyPairSync('rsa', { modulusLength: 1024 });
    case 'rsa2048':
      return generateKeyPairSync('rsa', { modulusLength: 2048 });
    case 'ec224':
      return generateKeyPairSync('ec', { namedCurve: 'secp224r1' });
    case 'ec256':
      return generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    case 'ec384':
      return generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
    case 'ed25519':
      return generateKeyPairSync('ed25519');
  }
}

function signatureName(key: KeyObject): string {
  const names: Record<string, string> = { rsa: 'RSASSA-PKCS1-v1_5', ec: 'ECDSA', ed25519: 'Ed25519' };
  return names[key.asymmetricKeyType ?? '']!;
}

async function signingKey(key: KeyObject, hash: string): Promise<webcrypto.CryptoKey> {
  const curve = key.asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 'P-384' : 'P-256';
  const der = createPrivateKey(key.export({ format: 'pem', type: 'pkcs8' })).export({ format: 'der', type: 'pkcs8' });
  return webcrypto.subtle.importKey('pkcs8', der, { name: signatureName(key), hash, namedCurve: curve }, true, [
    'sign',
  ]);
}
