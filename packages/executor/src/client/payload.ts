import type { RequestPayloads } from '../protocol/messages.ts';

/** Encodes a payload to the bytes that are signed. @throws TypeError if it is not JSON */
export function encodePayload(payload: RequestPayloads[keyof RequestPayloads]): Uint8Array {
  return Buffer.from(JSON.stringify(payload));
}
