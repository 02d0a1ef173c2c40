import { RemoteFailure, type RemoteCode, type RemoteFailureExtras } from '../protocol/codes.ts';

/** A failure that an executor answered with, or that stands for an answer which never came. */
export class RemoteCallFailure extends RemoteFailure {
  /** The task that failed; null where no task came of the call. */
  readonly correlationId: string | null;
  /** The URL of the endpoint that answered; null where none did. */
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

/** An answer that nobody signed: it says why the executor could not, and is believed no further than that. */
export class UnsignedRefusal extends RemoteCallFailure {}

/** An answer that does not carry the MAC of its request's key, or belongs to another request. */
export class ForgedAnswer extends Error {
  constructor(what: string) {
    super(`the answer was refused: ${what}`);
    this.name = 'ForgedAnswer';
  }
}
