import { createPublicKey, verify } from 'node:crypto';

import { CodeFault } from './code-fault.ts';
import type { EntrySignature } from './config/event-entry.ts';

/** DER prefix of an Ed25519 public key (SubjectPublicKeyInfo), before its 32 raw bytes. */
const ED25519_WRAPPING = Buffer.from('302a300506032b6570032100', 'hex');

/** Returns the signed bytes: `heddle-event-code-v1:` and the hexadecimal digest. */
function signedBytes(digest: string): Buffer {
  return Buffer.from(`heddle-event-code-v1:${digest}`);
}

/** Verifies the signature of code. @throws CodeFault if it does not match the code and key */
export function requireSignature(digest: string, { public_key, value }: EntrySignature): void {
  const key = createPublicKey({
    key: Buffer.concat([ED25519_WRAPPING, public_key]),
    format: 'der',
    type: 'spki',
  });
  if (!verify(null, signedBytes(digest), key, value)) throw new CodeFault('its signature does not match its code');
}
