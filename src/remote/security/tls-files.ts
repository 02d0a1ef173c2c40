import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import { KeyFileError } from './key-file-error.ts';
import { readSecretFile } from './secret-file.ts';

/** What a TLS listener is given, PEM. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** Authorities of client certificates; null where none are asked for. */
  readonly ca: string | null;
  /** Lists of revoked ones among them; null where none are named. */
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
 * Reads certificate, key and authorities. Certificate and key are two files: while only one of them was replaced they do
 * not fit, and are not taken.
 *
 * @throws KeyFileError where they cannot be used
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
  if (leftMs <= 0)
    log.error({ file: certFile }, `the TLS certificate expired on ${leaf.validTo}; clients will refuse it`);
  else if (leftMs < WARN_BEFORE_MS) log.warn({ file: certFile }, `the TLS certificate expires on ${leaf.validTo}`);
  return { cert, key, ca, crl };
}

/** The certificate. @throws KeyFileError where there is none, or the key is another's */
export function requirePair(pair: { cert: string; certFile: string; key: string; keyFile: string }): X509Certificate {
  const leaf = certificateOf(pair.cert, pair.certFile);
  if (leaf.checkPrivateKey(privateKeyOf(pair.key, pair.keyFile))) return leaf;
  throw new KeyFileError(`${pair.keyFile}: is not the key of the certificate in ${pair.certFile}`);
}

/** @throws KeyFileError */
export function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new KeyFileError(`${path}: cannot be read: ${(error as Error).message}`, error);
  });
}

/** The first certificate of a file's text. @throws KeyFileError */
export function certificateOf(pem: string, path: string): X509Certificate {
  try {
    return new X509Certificate(FIRST_CERTIFICATE.exec(pem)?.[0] ?? '');
  } catch (error) {
    throw new KeyFileError(`${path}: holds no certificate in PEM`, error);
  }
}

function privateKeyOf(pem: string, path: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new KeyFileError(`${path}: holds no private key in PEM, or one with a passphrase`, error);
  }
}
