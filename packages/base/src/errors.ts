/**
 * Catalogue of errors: every failure that a caller can see has one code, with its HTTP status, whether a retry can
 * help, and a one-sentence title.
 */
export const ERROR_CATALOGUE = {
  VALIDATION_FAILED: { status: 400, retryable: false, title: 'Validation failed' },
  MALFORMED_REQUEST: { status: 400, retryable: false, title: 'The request is not valid HTTP' },
  MALFORMED_BODY: { status: 400, retryable: false, title: 'The body is not valid JSON' },
  INVALID_QUERY: { status: 400, retryable: false, title: 'A query parameter is not valid' },
  SSRF_BLOCKED: { status: 400, retryable: false, title: 'A webhook address is not allowed' },
  UNAUTHENTICATED: { status: 401, retryable: false, title: 'A valid bearer token is required' },
  LOGIN_REJECTED: { status: 401, retryable: false, title: 'The identity provider does not confirm this login' },
  FORBIDDEN: { status: 403, retryable: false, title: 'The token or user may not do this' },
  HOST_NOT_ALLOWED: { status: 403, retryable: false, title: 'The server does not answer by this name' },
  CROSS_ORIGIN: { status: 403, retryable: false, title: 'Pages of other sites may not send this request' },
  INVALID_HANDLE: { status: 403, retryable: false, title: 'The handle is forged, expired or of an older attempt' },
  NOT_FOUND: { status: 404, retryable: false, title: 'No such resource' },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false, title: 'This method is not offered here' },
  REQUEST_TIMEOUT: { status: 408, retryable: true, title: 'The request did not arrive in time' },
  CONFLICT: { status: 409, retryable: false, title: 'Its state does not allow this' },
  HELD_BY_ANOTHER: { status: 409, retryable: false, title: 'Another worker claimed the task' },
  STALE_ATTEMPT: { status: 409, retryable: false, title: 'The report is for an attempt that has ended' },
  BODY_TOO_LARGE: { status: 413, retryable: false, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retryable: false, title: 'The body must be application/json' },
  IDEMPOTENCY_MISMATCH: { status: 422, retryable: false, title: 'The idempotency key was used with another body' },
  TOO_MANY_REQUESTS: { status: 429, retryable: true, title: 'Too many requests wait already' },
  HEADERS_TOO_LARGE: { status: 431, retryable: false, title: 'The address or the headers are too large' },
  INTERNAL: { status: 500, retryable: false, title: 'Heddle failed; the log names the reason' },
  DATABASE_UNAVAILABLE: { status: 503, retryable: true, title: 'The database cannot be reached' },
  DATABASE_BUSY: { status: 503, retryable: true, title: 'The database cannot do this now; try again' },
  QUEUE_UNAVAILABLE: { status: 503, retryable: true, title: 'The queue service cannot be reached' },
  IDENTITY_PROVIDER_UNAVAILABLE: { status: 503, retryable: true, title: 'The identity provider cannot be used' },
  SHUTTING_DOWN: { status: 503, retryable: true, title: 'The server is stopping' },
} as const;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

export interface ErrorExtras {
  /** One entry per fault, each naming its field: `tasks[3].timeout: must be between 1 and 86400`. */
  details?: readonly string[];
  batchId?: string;
  /** Seconds to wait before a retry. */
  retryAfterSecs?: number;
  cause?: unknown;
}

/** Failure that its caller can act on. */
export class HeddleError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly string[];
  readonly batchId: string | undefined;
  readonly retryAfterSecs: number | undefined;

  constructor(code: ErrorCode, message?: string, extras: ErrorExtras = {}) {
    super(message ?? ERROR_CATALOGUE[code].title, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = 'HeddleError';
    this.code = code;
    this.details = extras.details ?? [];
    this.batchId = extras.batchId;
    this.retryAfterSecs = extras.retryAfterSecs;
  }

  get status(): number {
    return ERROR_CATALOGUE[this.code].status;
  }

  get retryable(): boolean {
    return ERROR_CATALOGUE[this.code].retryable;
  }
}

/** Rejects a page cursor that does not exist, rather than returning the first page. */
export function unknownCursor(what: string, id: string): HeddleError {
  return new HeddleError('INVALID_QUERY', undefined, {
    details: [`after: no ${what} has the id ${id}; start again without it`],
  });
}
