import type { RequestPayloads } from '../protocol/messages.ts';

/** The bytes of a payload, as they are signed. @throws TypeError where it is not JSON */
export function encodePayload(payload: RequestPayloads[keyof RequestPayloads]): Uint8Array {
  return Buffer.from(JSON.stringify(payload));
}
