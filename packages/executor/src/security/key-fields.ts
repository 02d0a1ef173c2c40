import { CLIENT_NAME, KEY_ID } from '../protocol/envelope-shape.ts';
import { KeyFileError } from './key-file-error.ts';

/** Maximum keys in one file. */
export const KEYS_MAX = 100;

export function secretText(secret: Uint8Array): string {
  return Buffer.from(secret.buffer, secret.byteOffset, secret.length).toString('base64url');
}

export function secretBytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64url'));
}

/** Returns whether a value is 32 bytes in canonical base64url. */
export function isSecret(value: unknown): value is string {
  return typeof value === 'string' && value.length === 43 && secretText(secretBytes(value)) === value;
}

export function isKeyId(value: unknown): value is string {
  return typeof value === 'string' && KEY_ID.test(value);
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && CLIENT_NAME.test(value);
}

export function record(value: unknown, source: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new KeyFileError(`${source}: must be a JSON object`);
}
