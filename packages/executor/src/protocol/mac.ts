import { createHmac, createSecretKey, hkdfSync, timingSafeEqual, type KeyObject } from 'node:crypto';

import type { SignedRequest, SignedResponse } from './envelope.ts';

/** Prefix of every MAC input, so that signatures are not valid in any other protocol. */
export const DOMAIN = 'heddle-remote-v1';
/** Size of secrets, derived keys and MACs, bytes. */
export const KEY_BYTES = 32;

export type Direction = 'request' | 'response';
/** Keys of one client, one per direction, so that no request can pass for a response. */
export type SigningKeys = Readonly<Record<Direction, Uint8Array>>;
/** All fields of a request except the MAC. */
export type RequestFields = Omit<SignedRequest, 'mac'>;
/** All fields of a response except the MAC. */
export type ResponseFields = Omit<SignedResponse, 'mac'>;

const EMPTY = new Uint8Array(0);
const LENGTH_BYTES = 4;

/** Derives a client's key. @param secret master secret of the key id, at least 32 bytes */
export function deriveClientKey(secret: Uint8Array, client: string): Uint8Array {
  return derive(secret, lengthPrefixed(DOMAIN, 'client', client));
}

/** @param clientKey from deriveClientKey */
export function deriveDirectionKey(clientKey: Uint8Array, direction: Direction): Uint8Array {
  return derive(clientKey, lengthPrefixed(DOMAIN, direction));
}

/** @param clientKey from deriveClientKey */
export function deriveSigningKeys(clientKey: Uint8Array): SigningKeys {
  return {
    request: deriveDirectionKey(clientKey, 'request'),
    response: deriveDirectionKey(clientKey, 'response'),
  };
}

function derive(secret: Uint8Array, info: Uint8Array): Uint8Array {
  if (secret.length < KEY_BYTES)
    throw new TypeError(`the secret must have at least ${KEY_BYTES} bytes (got ${secret.length})`);
  return new Uint8Array(hkdfSync('sha256', secret, EMPTY, info, KEY_BYTES));
}

export function signRequest(fields: RequestFields, keys: Pick<SigningKeys, 'request'>): SignedRequest {
  return { ...fields, mac: macOf('request', fields, keys.request) };
}

/** Returns whether the MAC of a request was made with this key; runs in constant time. */
export function verifyRequest(request: SignedRequest, key: Uint8Array): boolean {
  return isMac('request', request, key);
}

export function signResponse(fields: ResponseFields, keys: Pick<SigningKeys, 'response'>): SignedResponse {
  return { ...fields, mac: macOf('response', fields, keys.response) };
}

/**
 * Returns whether the MAC of a response was made with this key, in constant time. Does not match it to a request; see
 * `isAnswerTo`.
 */
export function verifyResponse(response: SignedResponse, key: Uint8Array): boolean {
  return isMac('response', response, key);
}

/** Returns whether a response matches the request in all shared fields; meaningful only after its MAC was verified. */
export function isAnswerTo(response: SignedResponse, request: SignedRequest): boolean {
  return (
    response.nonce === request.nonce &&
    response.key_id === request.key_id &&
    response.client === request.client &&
    response.audience === request.audience &&
    response.method === request.method
  );
}

/** Returns the bytes covered by the MAC, for test vectors and other implementations. */
export function macInput(direction: 'request', fields: RequestFields): Uint8Array;
export function macInput(direction: 'response', fields: ResponseFields): Uint8Array;
export function macInput(direction: Direction, fields: RequestFields | ResponseFields): Uint8Array {
  return Buffer.concat([writeHeader(direction, fields), fields.payload]);
}

function macOf(direction: Direction, fields: RequestFields | ResponseFields, key: Uint8Array): Buffer {
  // Hashes the payload in place, because it may be megabytes.
  return createHmac('sha256', keyObject(key)).update(writeHeader(direction, fields)).update(fields.payload).digest();
}

function isMac(direction: Direction, signed: SignedRequest | SignedResponse, key: Uint8Array): boolean {
  // Oversized fields cannot have been signed.
  return signed.mac.length === KEY_BYTES && fits(signed) && timingSafeEqual(signed.mac, macOf(direction, signed, key));
}

function fits(fields: RequestFields | ResponseFields): boolean {
  const { key_id, nonce, client, audience, method } = fields;
  const correlationId = 'correlation_id' in fields ? fields.correlation_id : '';
  const units = key_id.length + nonce.length + client.length + audience.length + method.length + correlationId.length;
  return units <= FIELD_UNITS_MAX;
}

/** Cached key objects, because creating one costs more than a MAC; released together with their key bytes. */
const keyObjects = new WeakMap<Uint8Array, KeyObject>();

function keyObject(key: Uint8Array): KeyObject {
  let made = keyObjects.get(key);
  if (made === undefined) keyObjects.set(key, (made = createSecretKey(key)));
  return made;
}

/** Limit of UTF-16 units in all strings of one envelope; a valid one has less than half. */
const FIELD_UNITS_MAX = 1024;
const UTF8_BYTES_MAX = 3;
/** Buffer for everything before the payload: fields, numbers, direction and their lengths. */
const scratch = Buffer.allocUnsafe(FIELD_UNITS_MAX * UTF8_BYTES_MAX + 256);

/** Writes everything except the payload's bytes; the returned buffer is overwritten by the next call. */
function writeHeader(direction: Direction, fields: RequestFields | ResponseFields): Buffer {
  // Buffer writes truncate silently.
  if (!fits(fields)) throw new RangeError('a field of the envelope is too long');
  let at = writeText(DOMAIN, 0);
  at = writeText(direction, at);
  at = writeText(fields.key_id, at);
  at = writeText(String(fields.timestamp_ms), at);
  at = writeText(fields.nonce, at);
  at = writeText(fields.client, at);
  at = writeText(fields.audience, at);
  at = writeText(fields.method, at);
  if (direction === 'response') {
    const { correlation_id, sequence } = fields as ResponseFields;
    at = writeText(correlation_id, at);
    at = writeText(String(sequence), at);
  }
  at = scratch.writeUInt32BE(fields.payload.length, at);
  return scratch.subarray(0, at);
}

function writeText(text: string, at: number): number {
  const start = at + LENGTH_BYTES;
  const length = scratch.write(text, start);
  scratch.writeUInt32BE(length, at);
  return start + length;
}

function lengthPrefixed(...texts: readonly string[]): Uint8Array {
  return Buffer.concat(
    texts.flatMap((text) => {
      const length = Buffer.allocUnsafe(LENGTH_BYTES);
      const bytes = Buffer.from(text);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
}
