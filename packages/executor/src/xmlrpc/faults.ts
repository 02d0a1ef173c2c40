import { REMOTE_CODES, RemoteFailure, type RemoteCode } from '../protocol/codes.ts';
import type { ErrorResponse } from '../protocol/messages.ts';

/** Builds the `faultString`: the code, the message and the first detail. */
export function faultString(code: RemoteCode, message: string, details: readonly string[] = []): string {
  const [detail] = details;
  return detail === undefined ? `${code}: ${message}` : `${code}: ${message} (${detail})`;
}

/** Parses a fault. Unknown codes map to INTERNAL. */
export function failureOfFault(message: string): RemoteFailure {
  const [, code = '', rest = ''] = /^([A-Z_]+): (.*)$/s.exec(message) ?? [];
  return Object.hasOwn(REMOTE_CODES, code)
    ? new RemoteFailure(code as RemoteCode, rest)
    : new RemoteFailure('INTERNAL', message);
}

/** Parses the failure in the payload of an unsigned response. */
export function failureOfPayload(payload: Uint8Array): RemoteFailure {
  const { code, message, details, retry_after_secs } = JSON.parse(Buffer.from(payload).toString()) as ErrorResponse;
  return new RemoteFailure(code, message, {
    ...(details === undefined ? {} : { details }),
    ...(retry_after_secs === undefined ? {} : { retryAfterSecs: retry_after_secs }),
  });
}
