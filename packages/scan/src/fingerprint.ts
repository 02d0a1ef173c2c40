import { createHash } from 'node:crypto';

/**
 * Returns the identity of a finding across runs and line moves: 32 hexadecimal digits of its rule, path and secret.
 * The leading name separates fingerprints of this form from later ones.
 */
export function fingerprintOf(ruleId: string, path: string, secret: string): string {
  return createHash('sha256').update(`heddle-1\0${ruleId}\0${path}\0${secret}`).digest('hex').slice(0, 32);
}

/**
 * Returns the identity of a secret wherever it occurs: 32 hexadecimal digits, or null for a path-only rule, which has no
 * secret.
 */
export function secretIdOf(secret: string): string | null {
  if (secret === '') return null;
  return createHash('sha256').update(`heddle-secret-1\0${secret}`).digest('hex').slice(0, 32);
}
