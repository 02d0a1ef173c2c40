import { RemoteFailure } from '../protocol/codes.ts';
import { CodeFault } from './code-fault.ts';
import { AttemptFailure } from './shared-attempts.ts';

/** Why code cannot be had, in words that callers may read: what failed here, and where, is for the log. */
export function reasonTold(error: unknown): string {
  const origin = error instanceof AttemptFailure ? error.cause : error;
  if (origin instanceof CodeFault || origin instanceof RemoteFailure) return origin.message;
  return 'the executor failed to keep it';
}

/** What the caller of an event is told whose code cannot be had. */
export function unavailable(name: string, error: unknown): RemoteFailure {
  const cause = error instanceof AttemptFailure ? error.cause : error;
  if (cause instanceof RemoteFailure && cause.code !== 'EVENT_UNAVAILABLE') return cause;
  return new RemoteFailure('EVENT_UNAVAILABLE', `The code of the event ${name} cannot be had: ${reasonTold(error)}`, {
    cause: error,
    ...(cause instanceof RemoteFailure ? { details: cause.details } : {}),
    ...(error instanceof AttemptFailure ? { retryAfterSecs: error.retryAfterSecs } : {}),
  });
}
