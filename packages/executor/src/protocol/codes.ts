/**
 * Every code of a remote response: its number in XML-RPC faults, whether the same call may succeed later, its HTTP
 * status, and a title for people.
 */
export const REMOTE_CODES = {
  MALFORMED: { number: 1, retryable: false, status: 400, title: 'The request is malformed' },
  INVALID_CHECKSUM: { number: 2, retryable: false, status: 401, title: 'The MAC does not match the request' },
  UNAUTHENTICATED: { number: 3, retryable: false, status: 401, title: 'The caller is unknown' },
  EXPIRED: { number: 4, retryable: true, status: 401, title: 'The request is too old or in the future' },
  REPLAYED: { number: 5, retryable: false, status: 401, title: 'The request was received before' },
  FORBIDDEN: { number: 6, retryable: false, status: 403, title: 'The caller is not allowed to do this' },
  EVENT_NOT_WHITELISTED: { number: 7, retryable: false, status: 403, title: 'The event is not allowed here' },
  EVENT_NOT_REGISTERED: { number: 8, retryable: false, status: 404, title: 'No such event' },
  NOT_FOUND: { number: 9, retryable: false, status: 404, title: 'No such task' },
  INVALID_ARGS: { number: 10, retryable: false, status: 422, title: 'The arguments are invalid for the event' },
  IDEMPOTENCY_MISMATCH: {
    number: 11,
    retryable: false,
    status: 422,
    title: 'The idempotency key was used with another request',
  },
  QUARANTINED: { number: 12, retryable: false, status: 422, title: 'The task lost its worker too often' },
  QUEUE_FULL: { number: 13, retryable: true, status: 503, title: 'Too many tasks are waiting' },
  EVENT_UNAVAILABLE: { number: 14, retryable: true, status: 503, title: 'The code of the event is unavailable' },
  SHUTTING_DOWN: { number: 15, retryable: true, status: 503, title: 'The executor is stopping' },
  TASK_TIMEOUT: { number: 16, retryable: false, status: 200, title: 'The task timed out' },
  TASK_OOM: { number: 17, retryable: false, status: 200, title: 'The task exceeded its memory limit' },
  EXECUTION_FAILED: { number: 18, retryable: false, status: 200, title: 'The task failed' },
  RESULT_TOO_LARGE: { number: 19, retryable: false, status: 200, title: 'The result is too large' },
  RESULT_NOT_SERIALIZABLE: { number: 20, retryable: false, status: 200, title: 'The result is not JSON' },
  WORKER_LOST: { number: 21, retryable: false, status: 200, title: 'The process of the task ended unexpectedly' },
  CANCELED: { number: 22, retryable: false, status: 200, title: 'The task was canceled' },
  INTERNAL: { number: 23, retryable: false, status: 500, title: 'The executor failed; see its log' },
} as const;

export type RemoteCode = keyof typeof REMOTE_CODES;

/** Codes with which an admitted task can end. The other codes reject a request, of which nothing is stored. */
export const OUTCOME_CODES = [
  'TASK_TIMEOUT',
  'TASK_OOM',
  'EXECUTION_FAILED',
  'RESULT_TOO_LARGE',
  'RESULT_NOT_SERIALIZABLE',
  'WORKER_LOST',
  'CANCELED',
  'INVALID_ARGS',
  'QUARANTINED',
  'EVENT_UNAVAILABLE',
  'INTERNAL',
] as const satisfies readonly RemoteCode[];

export type OutcomeCode = (typeof OUTCOME_CODES)[number];

export interface RemoteFailureExtras {
  /** One entry per fault, each naming its field. */
  details?: readonly string[];
  /** Seconds after which a retry is reasonable. */
  retryAfterSecs?: number;
  /** Events that could be submitted instead; only in debug mode. */
  availableEvents?: readonly string[];
  cause?: unknown;
}

/** A failure that is returned to the remote caller. */
export class RemoteFailure extends Error {
  readonly code: RemoteCode;
  readonly details: readonly string[];
  readonly retryAfterSecs: number | undefined;
  readonly availableEvents: readonly string[] | undefined;

  constructor(code: RemoteCode, message?: string, extras: RemoteFailureExtras = {}) {
    super(message ?? REMOTE_CODES[code].title, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = 'RemoteFailure';
    this.code = code;
    this.details = extras.details ?? [];
    this.retryAfterSecs = extras.retryAfterSecs;
    this.availableEvents = extras.availableEvents;
  }

  get retryable(): boolean {
    return REMOTE_CODES[this.code].retryable;
  }
}
