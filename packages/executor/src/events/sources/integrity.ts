import { createHash, timingSafeEqual } from 'node:crypto';

import { CodeFault } from '../code-fault.ts';

const DIGEST_BYTES = { sha256: 32, sha384: 48, sha512: 64 } as const;
export type IntegrityAlgorithm = keyof typeof DIGEST_BYTES;

export interface Integrity {
  readonly algorithm: IntegrityAlgorithm;
  readonly digest: Buffer;
}

/** Parses one hash as in a lock file, `sha512-…`; returns null if it is invalid or weak (`sha1-…`). */
export function parseIntegrity(text: string): Integrity | null {
  const [, algorithm, base64] = /^(sha256|sha384|sha512)-([A-Za-z0-9+/]{43,86}={0,2})$/.exec(text) ?? [];
  if (algorithm === undefined || base64 === undefined) return null;
  const digest = Buffer.from(base64, 'base64');
  const bytes = DIGEST_BYTES[algorithm as IntegrityAlgorithm];
  if (digest.length !== bytes || digest.toString('base64') !== base64) return null;
  return { algorithm: algorithm as IntegrityAlgorithm, digest };
}

/** Verifies bytes against an integrity hash. @throws CodeFault if they differ */
export function requireIntegrity(bytes: Uint8Array, { algorithm, digest }: Integrity): void {
  const actual = createHash(algorithm).update(bytes).digest();
  if (!timingSafeEqual(actual, digest)) throw new CodeFault('the package does not match the pinned integrity');
}
