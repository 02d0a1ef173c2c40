import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import type { JSONWebKeySet, JWK } from 'jose';

import { KEYS_MAX, record } from './key-fields.ts';
import { KeyFileError } from './key-file-error.ts';
import { parseKeyJson } from './secret-file.ts';

const RSA_BITS_MIN = 2048;
const FILE_BYTES_MAX = 1_048_576;
const PEM_BLOCK = /-----BEGIN (PUBLIC KEY|CERTIFICATE)-----[\s\S]+?-----END \1-----/g;

/**
 * Reads the public keys of a file: a JWKS, or PEM blocks (public keys or certificates).
 *
 * @throws KeyFileError if it is unreadable, has no keys, or has a secret or weak one
 */
export async function readTokenKeys(path: string): Promise<JSONWebKeySet> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new KeyFileError(`${path}: cannot be read: ${(error as Error).message}`, error);
  });
  if (bytes.length > FILE_BYTES_MAX) throw new KeyFileError(`${path}: is larger than ${FILE_BYTES_MAX} bytes`);
  const text = bytes.toString();
  if (text.includes('PRIVATE KEY-----'))
    throw new KeyFileError(`${path}: contains a private key; use public keys only`);
  const keys = text.trimStart().startsWith('{') ? jwksKeys(bytes, path) : pemKeys(text, path);
  if (keys.length === 0 || keys.length > KEYS_MAX)
    throw new KeyFileError(`${path}: must contain 1 to ${KEYS_MAX} keys`);
  return { keys };
}

function jwksKeys(bytes: Buffer, path: string): JWK[] {
  const { keys } = record(parseKeyJson(bytes, path), path);
  if (!Array.isArray(keys)) throw new KeyFileError(`${path}: keys: must be a list (a JWKS)`);
  return keys.map((value: unknown, index) => {
    const source = `${path}: keys[${index}]`;
    const key = record(value, source) as JWK;
    // With a shared secret, any process that can read this file could create tokens.
    if (key.kty === 'oct' || key.d !== undefined || key.k !== undefined) {
      throw new KeyFileError(`${source}: is a secret key; use public keys only`);
    }
    publicKey(() => createPublicKey({ key, format: 'jwk' }), source);
    return key;
  });
}

function pemKeys(text: string, path: string): JWK[] {
  return [...text.matchAll(PEM_BLOCK)].map(([block], index) => {
    const key = publicKey(() => createPublicKey(block), `${path}: block ${index + 1}`);
    return key.export({ format: 'jwk' });
  });
}

function publicKey(read: () => KeyObject, source: string): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch (error) {
    throw new KeyFileError(`${source}: is not a public key: ${(error as Error).message}`, error);
  }
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && bits < RSA_BITS_MIN) {
    throw new KeyFileError(`${source}: is an RSA key of ${bits} bits; at least ${RSA_BITS_MIN} are required`);
  }
  return key;
}
