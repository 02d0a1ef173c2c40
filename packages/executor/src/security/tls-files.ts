import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { KeyFileError } from './key-file-error.ts';
import { readSecretFile } from './secret-file.ts';

/** TLS material of a listener, PEM. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** Authorities of client certificates; null if none are required. */
  readonly ca: string | null;
  /** Certificate revocation lists; null for none. */
  readonly crl: string | null;
}

export interface TlsFiles {
  certFile: string;
  keyFile: string;
  caFile: string | null;
  crlFile: string | null;
  clock: Clock;
  log: Logger;
}

const FIRST_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/;
const WARN_BEFORE_MS = 7 * 86_400_000;

/**
 * Reads certificate, key and authorities. While only one of certificate and key has been replaced they do not match and
 * are rejected.
 *
 * @throws KeyFileError if they are unusable
 */
export async function readTlsFiles({ certFile, keyFile, caFile, crlFile, clock, log }: TlsFiles): Promise<TlsMaterial> {
  const [cert, key, ca, crl] = await Promise.all([
    readText(certFile),
    readSecretFile(keyFile, 'group').then((bytes) => bytes.toString()),
    caFile === null ? null : readText(caFile),
    crlFile === null ? null : readText(crlFile),
  ]);
  const leaf = requirePair({ cert, certFile, key, keyFile });
  if (ca !== null) certificateOf(ca, caFile!);
  const leftMs = Date.parse(leaf.validTo) - clock.now();
  if (leftMs <= 0) log.error({ file: certFile }, `TLS certificate expired on ${leaf.validTo}; clients will reject it`);
  else if (leftMs < WARN_BEFORE_MS) log.warn({ file: certFile }, `TLS certificate expires on ${leaf.validTo}`);
  return { cert, key, ca, crl };
}

/** Verifies that the key belongs to the certificate, and returns the certificate. @throws KeyFileError if not */
export function requirePair(pair: { cert: string; certFile: string; key: string; keyFile: string }): X509Certificate {
  const leaf = certificateOf(pair.cert, pair.certFile);
  if (leaf.checkPrivateKey(privateKeyOf(pair.key, pair.keyFile))) return leaf;
  throw new KeyFileError(`${pair.keyFile}: does not match the certificate in ${pair.certFile}`);
}

/** @throws KeyFileError */
export function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new KeyFileError(`${path}: cannot be read: ${(error as Error).message}`, error);
  });
}

/** Parses the first certificate of a file. @throws KeyFileError */
export function certificateOf(pem: string, path: string): X509Certificate {
  try {
    return new X509Certificate(FIRST_CERTIFICATE.exec(pem)?.[0] ?? '');
  } catch (error) {
    throw new KeyFileError(`${path}: contains no PEM certificate`, error);
  }
}

function privateKeyOf(pem: string, path: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new KeyFileError(`${path}: contains no PEM private key, or one with a passphrase`, error);
  }
}
