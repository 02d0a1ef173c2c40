import { createPublicKey, verify } from 'node:crypto';

import { CodeFault } from './code-fault.ts';
import type { EntrySignature } from './config/event-entry.ts';

/** What stands before the 32 bytes of a raw Ed25519 key in its usual wrapping (SubjectPublicKeyInfo, DER). */
const ED25519_WRAPPING = Buffer.from('302a300506032b6570032100', 'hex');

/** The bytes under a signature of code: `heddle-event-code-v1:` and the digest's hexadecimal digits. */
export function signedBytes(digest: string): Buffer {
  return Buffer.from(`heddle-event-code-v1:${digest}`);
}

/** @throws CodeFault where the signature is not of this code by this key */
export function requireSignature(digest: string, { public_key, value }: EntrySignature): void {
  const key = createPublicKey({
    key: Buffer.concat([ED25519_WRAPPING, public_key]),
    format: 'der',
    type: 'spki',
  });
  if (!verify(null, signedBytes(digest), key, value)) throw new CodeFault('its signature does not fit its code');
}
