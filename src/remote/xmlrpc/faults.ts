import { REMOTE_CODES, RemoteFailure, type RemoteCode } from '../protocol/codes.ts';
import type { ErrorResponse } from '../protocol/messages.ts';

/** The `faultString`: the code, the message, and the first of the details. */
export function faultString(code: RemoteCode, message: string, details: readonly string[] = []): string {
  const [detail] = details;
  return detail === undefined ? `${code}: ${message}` : `${code}: ${message} (${detail})`;
}

/** The failure that a fault tells. A code that is not known counts as INTERNAL. */
export function failureOfFault(message: string): RemoteFailure {
  const [, code = '', rest = ''] = /^([A-Z_]+): (.*)$/s.exec(message) ?? [];
  return Object.hasOwn(REMOTE_CODES, code)
    ? new RemoteFailure(code as RemoteCode, rest)
    : new RemoteFailure('INTERNAL', message);
}

/** The failure that an unsigned answer's payload tells. */
export function failureOfPayload(payload: Uint8Array): RemoteFailure {
  const { code, message, details, retry_after_secs } = JSON.parse(Buffer.from(payload).toString()) as ErrorResponse;
  return new RemoteFailure(code, message, {
    ...(details === undefined ? {} : { details }),
    ...(retry_after_secs === undefined ? {} : { retryAfterSecs: retry_after_secs }),
  });
}
