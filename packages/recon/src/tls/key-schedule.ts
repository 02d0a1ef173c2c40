import { createDecipheriv, createHash, createHmac } from 'node:crypto';
import type { CipherGCMTypes } from 'node:crypto';

import { malformed } from './fault.ts';

interface SuiteParameters {
  readonly hash: 'sha256' | 'sha384';
  readonly algorithm: string;
  readonly key_bytes: number;
  readonly tag_bytes: number;
}

const IV_BYTES = 12;

/** The TLS 1.3 suites whose records a probe can decrypt. */
const SUITES: Readonly<Record<number, SuiteParameters>> = {
  0x1301: { hash: 'sha256', algorithm: 'aes-128-gcm', key_bytes: 16, tag_bytes: 16 },
  0x1302: { hash: 'sha384', algorithm: 'aes-256-gcm', key_bytes: 32, tag_bytes: 16 },
  0x1303: { hash: 'sha256', algorithm: 'chacha20-poly1305', key_bytes: 32, tag_bytes: 16 },
  0x1304: { hash: 'sha256', algorithm: 'aes-128-ccm', key_bytes: 16, tag_bytes: 16 },
  0x1305: { hash: 'sha256', algorithm: 'aes-128-ccm', key_bytes: 16, tag_bytes: 8 },
};

export function canRead(cipher: number): boolean {
  return Object.hasOwn(SUITES, cipher);
}

export function transcriptHash(cipher: number, messages: readonly Uint8Array[]): Buffer {
  const hash = createHash(SUITES[cipher]!.hash);
  for (const message of messages) hash.update(message);
  return hash.digest();
}

/**
 * Decrypts the records of a server's TLS 1.3 handshake (RFC 8446, 5.2 and 7.1); nothing is encrypted with these keys.
 */
export class HandshakeDecryption {
  readonly #suite: SuiteParameters;
  readonly #key: Buffer;
  readonly #iv: Buffer;
  #sequence = 0;

  /**
   * @param shared the secret of the key exchange
   * @param transcript hash of the messages up to the ServerHello
   */
  constructor(cipher: number, shared: Uint8Array, transcript: Uint8Array) {
    this.#suite = SUITES[cipher]!;
    const { hash, key_bytes } = this.#suite;
    const handshakeSecret = createHmac(hash, EARLY_DERIVED[hash]).update(shared).digest();
    const traffic = expandLabel(hash, handshakeSecret, 's hs traffic', transcript, transcript.length);
    this.#key = expandLabel(hash, traffic, 'key', EMPTY, key_bytes);
    this.#iv = expandLabel(hash, traffic, 'iv', EMPTY, IV_BYTES);
  }

  /** Returns the inner type and content of one encrypted record. */
  open(header: Uint8Array, sealed: Uint8Array): { type: number; content: Uint8Array } {
    const { algorithm, tag_bytes } = this.#suite;
    const length = sealed.length - tag_bytes;
    if (length < 1) throw malformed('an encrypted record without content');
    const nonce = Buffer.from(this.#iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(IV_BYTES - 4) ^ this.#sequence++) >>> 0, IV_BYTES - 4);
    // One signature covers all of them at run time; the types declare each separately.
    const decipher = createDecipheriv(algorithm as CipherGCMTypes, this.#key, nonce, { authTagLength: tag_bytes });
    decipher.setAuthTag(sealed.subarray(length));
    decipher.setAAD(header, { plaintextLength: length });
    const plain = decipher.update(sealed.subarray(0, length));
    try {
      decipher.final();
    } catch {
      throw malformed('a record that does not decrypt');
    }
    return withoutPadding(plain);
  }
}

/** The content is followed by its type, then any number of zeros. */
function withoutPadding(plain: Buffer): { type: number; content: Uint8Array } {
  let end = plain.length - 1;
  while (end >= 0 && plain[end] === 0) end -= 1;
  if (end < 0) throw malformed('an encrypted record of nothing but padding');
  return { type: plain[end]!, content: plain.subarray(0, end) };
}

const EMPTY = Buffer.alloc(0);

/** Without a pre-shared key, the first steps of the schedule are the same for every connection. */
const EARLY_DERIVED = { sha256: earlyDerived('sha256', 32), sha384: earlyDerived('sha384', 48) } as const;

function earlyDerived(hash: 'sha256' | 'sha384', bytes: number): Buffer {
  const early = createHmac(hash, Buffer.alloc(bytes)).update(Buffer.alloc(bytes)).digest();
  return expandLabel(hash, early, 'derived', createHash(hash).digest(), bytes);
}

/** HKDF-Expand-Label for at most one block of the hash, which is all that is needed. */
function expandLabel(hash: string, secret: Uint8Array, label: string, context: Uint8Array, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`, 'latin1');
  const head = Buffer.of(0, length, name.length);
  return createHmac(hash, secret)
    .update(Buffer.concat([head, name, Buffer.of(context.length), context, Buffer.of(1)]))
    .digest()
    .subarray(0, length);
}
