import type { Random } from '@heddle/base/random';
import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import { isAnswerTo, signRequest, verifyResponse } from '../protocol/mac.ts';
import type { RemoteMethod } from '../protocol/messages.ts';
import { failureOf, readObject } from './answer.ts';
import type { ClientSigner } from '../security/client-credentials.ts';
import { ForgedAnswer, UnsignedRefusal } from './failures.ts';

const NONCE_BYTES = 16;

/** @param timestampMs time by the executor's clock, as far as known */
export function sealRequest(
  signer: ClientSigner,
  method: RemoteMethod,
  payload: Uint8Array,
  { timestampMs, random }: { timestampMs: number; random: Random },
): SignedRequest {
  const { client, audience, keyId: key_id, keys } = signer;
  const nonce = Buffer.from(random.bytes(NONCE_BYTES)).toString('base64url');
  return signRequest({ key_id, timestamp_ms: timestampMs, nonce, client, audience, method, payload }, keys);
}

/**
 * Verifies that a response comes from the executor and belongs to this request.
 *
 * @throws UnsignedRefusal for an error without MAC (the executor does not know the key); ForgedAnswer
 */
export function requireAuthentic(
  response: SignedResponse,
  request: SignedRequest,
  signer: ClientSigner,
  endpoint: string,
): void {
  if (response.mac.length === 0) throw refusalOf(response, endpoint);
  if (!verifyResponse(response, signer.keys.response)) {
    throw new ForgedAnswer(`its MAC does not match the key ${signer.keyId} of ${signer.client}`);
  }
  if (!isAnswerTo(response, request)) throw new ForgedAnswer('it answers another request');
}

/** Only errors may lack a MAC. */
function refusalOf(response: SignedResponse, endpoint: string): Error {
  const payload = readObject(response.payload);
  if (payload['status'] !== 'error') return new ForgedAnswer('it has no MAC');
  const { code, message, details, retryAfterSecs } = failureOf(payload, endpoint);
  return new UnsignedRefusal(code, message, {
    details,
    ...(retryAfterSecs === undefined ? {} : { retryAfterSecs }),
    endpoint,
  });
}
