import { RemoteFailure } from '../protocol/codes.ts';
import { CodeFault } from './code-fault.ts';
import { AttemptFailure } from './shared-attempts.ts';

/** Returns why code is unavailable, in words safe for callers; local details stay in the log. */
export function publicReason(error: unknown): string {
  const origin = error instanceof AttemptFailure ? error.cause : error;
  if (origin instanceof CodeFault || origin instanceof RemoteFailure) return origin.message;
  return 'the executor could not store it';
}

/** Builds the failure returned to the caller of an event whose code is unavailable. */
export function unavailable(name: string, error: unknown): RemoteFailure {
  const cause = error instanceof AttemptFailure ? error.cause : error;
  if (cause instanceof RemoteFailure && cause.code !== 'EVENT_UNAVAILABLE') return cause;
  return new RemoteFailure(
    'EVENT_UNAVAILABLE',
    `The code of the event ${name} is unavailable: ${publicReason(error)}`,
    {
      cause: error,
      ...(cause instanceof RemoteFailure ? { details: cause.details } : {}),
      ...(error instanceof AttemptFailure ? { retryAfterSecs: error.retryAfterSecs } : {}),
    },
  );
}
