import { RCODE_FORMERR, RCODE_NOERROR, RCODE_NXDOMAIN, RCODE_SERVFAIL, statusName } from './codes.ts';
import { decodeResponse, type DecodedResponse } from './decode.ts';
import { HEADER_BYTES } from './encode.ts';

/** Classification of a response to an open question. */
export type Verdict =
  | { kind: 'usable'; status: string; response: DecodedResponse }
  /** The full answer must be fetched over TCP. */
  | { kind: 'truncated' }
  /** Another server may know better; `passing`: so may the same server on a retry. */
  | { kind: 'failed'; status: string; passing: boolean };

const TRUNCATED: Verdict = { kind: 'truncated' };
export const MALFORMED: Verdict = { kind: 'failed', status: 'MALFORMED', passing: true };
const FLAG_TRUNCATED = 0x02;

/** Returns whether a datagram is a response to an ordinary query at all. */
export function isResponse(message: Uint8Array): boolean {
  return message.length >= HEADER_BYTES && (message[2]! & 0xf8) === 0x80;
}

/** Matches the reply of servers without EDNS support, which may consist of the header alone. */
export function isBareFormatError(message: Uint8Array): boolean {
  return message.length === HEADER_BYTES && rcodeOf(message) === RCODE_FORMERR;
}

export function isFormatError(message: Uint8Array): boolean {
  return rcodeOf(message) === RCODE_FORMERR;
}

/** @param message a response to the question that was asked, or a bare format error */
export function judgeResponse(message: Uint8Array, questionEnd: number): Verdict {
  if (isBareFormatError(message)) return { kind: 'failed', status: statusName(RCODE_FORMERR), passing: false };
  if ((message[2]! & FLAG_TRUNCATED) !== 0) return TRUNCATED;
  const decoded = decodeResponse(message, questionEnd);
  if (!decoded.ok) return MALFORMED;
  const { response } = decoded;
  const status = statusName(response.rcode);
  if (response.rcode === RCODE_NOERROR || response.rcode === RCODE_NXDOMAIN)
    return { kind: 'usable', status, response };
  return { kind: 'failed', status, passing: response.rcode === RCODE_SERVFAIL };
}

function rcodeOf(message: Uint8Array): number {
  return message[3]! & 0x0f;
}
