import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = 'aes-256-gcm';

interface SecretKey {
  id: string;
  bytes: Uint8Array;
}

/** A value encrypted with a key. */
export interface SealedValue {
  /** The first digits of the key's SHA-256. */
  key_id: string;
  /** Nonce, ciphertext, tag. */
  sealed: Uint8Array;
}

/** The keys that encrypt secrets: the first seals, all of them open. */
export class Keyring {
  readonly #keys: readonly SecretKey[];

  /** @param keys of 32 bytes each */
  constructor(keys: readonly Uint8Array[]) {
    this.#keys = keys.map((bytes) => ({ id: keyId(bytes), bytes }));
  }

  /** Id of the key that seals; null if there is none. */
  get current(): string | null {
    return this.#keys[0]?.id ?? null;
  }

  has(id: string): boolean {
    return this.#keys.some((key) => key.id === id);
  }

  /**
   * @param context what the value belongs to: it opens with the same one only
   * @throws Error if there is no key
   */
  seal(value: string, context: string): SealedValue {
    const [key] = this.#keys;
    if (key === undefined) throw new Error('there is no key');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, key.bytes, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([nonce, cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return { key_id: key.id, sealed };
  }

  /** @throws Error if the key is missing, or the value or its context was changed */
  open({ key_id, sealed }: SealedValue, context: string): string {
    const key = this.#keys.find(({ id }) => id === key_id);
    if (key === undefined) throw new Error(`there is no key ${key_id}`);
    const bytes = Buffer.from(sealed);
    const decipher = createDecipheriv(ALGORITHM, key.bytes, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const inner = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
    return Buffer.concat([decipher.update(inner), decipher.final()]).toString('utf8');
  }
}

/** Returns a new key in the form in which it is configured: base64. */
export function newSecretKey(): string {
  return randomBytes(KEY_BYTES).toString('base64');
}

/** Parses the base64 of 32 bytes; returns null for anything else. */
export function parseSecretKey(text: string): Uint8Array | null {
  const bytes = Buffer.from(text.trim(), 'base64');
  return bytes.length === KEY_BYTES && bytes.toString('base64') === text.trim() ? bytes : null;
}

function keyId(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}
