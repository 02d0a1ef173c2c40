import { RemoteFailure, type RemoteCode, type RemoteFailureExtras } from '../protocol/codes.ts';

/** A failure returned by an executor, or one that stands in for a missing response. */
export class RemoteCallFailure extends RemoteFailure {
  /** The failed task; null if the call created none. */
  readonly correlationId: string | null;
  /** URL of the endpoint that responded; null if none did. */
  readonly endpoint: string | null;

  constructor(
    code: RemoteCode,
    message: string,
    details: RemoteFailureExtras & { correlationId?: string | null; endpoint?: string | null } = {},
  ) {
    super(code, message, details);
    this.name = 'RemoteCallFailure';
    this.correlationId = details.correlationId ?? null;
    this.endpoint = details.endpoint ?? null;
  }
}

/** An unsigned error response: it explains why the executor could not sign, and nothing else in it is trusted. */
export class UnsignedRefusal extends RemoteCallFailure {}

/** Thrown if a response lacks the MAC of the request's key or belongs to another request. */
export class ForgedAnswer extends Error {
  constructor(what: string) {
    super(`response rejected: ${what}`);
    this.name = 'ForgedAnswer';
  }
}
