import { createHmac, createSecretKey, hkdfSync, timingSafeEqual, type KeyObject } from 'node:crypto';

import type { SignedRequest, SignedResponse } from './envelope.ts';

/** What every MAC begins with: no bytes signed for this protocol mean anything in another one. */
export const DOMAIN = 'heddle-remote-v1';
/** Bytes of secrets, derived keys and MACs. */
export const KEY_BYTES = 32;

export type Direction = 'request' | 'response';
/** The keys of one client: one for each direction, so that no request passes for an answer. */
export type SigningKeys = Readonly<Record<Direction, Uint8Array>>;
/** A request that lacks nothing but its MAC. */
export type RequestFields = Omit<SignedRequest, 'mac'>;
/** An answer that lacks nothing but its MAC. */
export type ResponseFields = Omit<SignedResponse, 'mac'>;

const EMPTY = new Uint8Array(0);
const LENGTH_BYTES = 4;

/** The one key that a client holds. @param secret the master secret of the key id, 32 bytes or more */
export function deriveClientKey(secret: Uint8Array, client: string): Uint8Array {
  return derive(secret, lengthPrefixed(DOMAIN, 'client', client));
}

/** @param clientKey of deriveClientKey */
export function deriveDirectionKey(clientKey: Uint8Array, direction: Direction): Uint8Array {
  return derive(clientKey, lengthPrefixed(DOMAIN, direction));
}

/** @param clientKey of deriveClientKey */
export function deriveSigningKeys(clientKey: Uint8Array): SigningKeys {
  return {
    request: deriveDirectionKey(clientKey, 'request'),
    response: deriveDirectionKey(clientKey, 'response'),
  };
}

function derive(secret: Uint8Array, info: Uint8Array): Uint8Array {
  if (secret.length < KEY_BYTES) throw new TypeError(`a secret of ${secret.length} bytes: ${KEY_BYTES} are needed`);
  return new Uint8Array(hkdfSync('sha256', secret, EMPTY, info, KEY_BYTES));
}

export function signRequest(fields: RequestFields, keys: Pick<SigningKeys, 'request'>): SignedRequest {
  return { ...fields, mac: macOf('request', fields, keys.request) };
}

/** Whether the MAC of a request was made with this key; in constant time. */
export function verifyRequest(request: SignedRequest, key: Uint8Array): boolean {
  return isMac('request', request, key);
}

export function signResponse(fields: ResponseFields, keys: Pick<SigningKeys, 'response'>): SignedResponse {
  return { ...fields, mac: macOf('response', fields, keys.response) };
}

/** Whether the MAC of an answer was made with this key; in constant time. Whether it answers the request: `isAnswerTo`. */
export function verifyResponse(response: SignedResponse, key: Uint8Array): boolean {
  return isMac('response', response, key);
}

/** Whether an answer names the request in every field that both have; of use only once its MAC was verified. */
export function isAnswerTo(response: SignedResponse, request: SignedRequest): boolean {
  return (
    response.nonce === request.nonce &&
    response.key_id === request.key_id &&
    response.client === request.client &&
    response.audience === request.audience &&
    response.method === request.method
  );
}

/** The bytes under the MAC, in one piece: for test vectors and other implementations. */
export function macInput(direction: 'request', fields: RequestFields): Uint8Array;
export function macInput(direction: 'response', fields: ResponseFields): Uint8Array;
export function macInput(direction: Direction, fields: RequestFields | ResponseFields): Uint8Array {
  return Buffer.concat([writeHeader(direction, fields), fields.payload]);
}

function macOf(direction: Direction, fields: RequestFields | ResponseFields, key: Uint8Array): Buffer {
  // The payload goes in as it lies: it may be megabytes, and no copy of it is made.
  return createHmac('sha256', keyObject(key)).update(writeHeader(direction, fields)).update(fields.payload).digest();
}

function isMac(direction: Direction, signed: SignedRequest | SignedResponse, key: Uint8Array): boolean {
  // Nobody can have signed what is longer than any field may be.
  return signed.mac.length === KEY_BYTES && fits(signed) && timingSafeEqual(signed.mac, macOf(direction, signed, key));
}

function fits(fields: RequestFields | ResponseFields): boolean {
  const { key_id, nonce, client, audience, method } = fields;
  const correlationId = 'correlation_id' in fields ? fields.correlation_id : '';
  const units = key_id.length + nonce.length + client.length + audience.length + method.length + correlationId.length;
  return units <= FIELD_UNITS_MAX;
}

/** Keys as OpenSSL takes them: to make one costs more than a MAC does. They go with the bytes they were made of. */
const keyObjects = new WeakMap<Uint8Array, KeyObject>();

function keyObject(key: Uint8Array): KeyObject {
  let made = keyObjects.get(key);
  if (made === undefined) keyObjects.set(key, (made = createSecretKey(key)));
  return made;
}

/** UTF-16 units that the texts of one envelope may have together; those of a valid one have less than half as many. */
const FIELD_UNITS_MAX = 1024;
const UTF8_BYTES_MAX = 3;
/** Everything before the payload: the fields, what stands for numbers and directions, and the lengths of all of it. */
const scratch = Buffer.allocUnsafe(FIELD_UNITS_MAX * UTF8_BYTES_MAX + 256);

/** Writes all but the payload's bytes; what it returns is overwritten by the next call. */
function writeHeader(direction: Direction, fields: RequestFields | ResponseFields): Buffer {
  // A text that does not fit would be cut in silence.
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
