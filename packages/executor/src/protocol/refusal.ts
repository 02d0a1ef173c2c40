import { RemoteFailure } from './codes.ts';
import type { ErrorResponse } from './messages.ts';

/**
 * Builds the payload for a request that could not be parsed far enough to sign a response.
 *
 * @param nowMs milliseconds since the epoch
 */
export function refusalPayload(failure: RemoteFailure, nowMs: number): Buffer {
  const answer: ErrorResponse = {
    correlation_id: '',
    status: 'error',
    code: failure.code,
    message: failure.message,
    timestamp: new Date(nowMs).toISOString(),
    ...(failure.details.length === 0 ? {} : { details: failure.details }),
    ...(failure.retryAfterSecs === undefined ? {} : { retry_after_secs: failure.retryAfterSecs }),
  };
  return Buffer.from(JSON.stringify(answer));
}

/** Builds a MALFORMED failure with one fault. @param detail the field, and what is wrong with it */
export function malformed(detail: string): RemoteFailure {
  return new RemoteFailure('MALFORMED', undefined, { details: [detail] });
}
