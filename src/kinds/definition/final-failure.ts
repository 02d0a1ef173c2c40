/** Thrown by a handler that would fail again in every further attempt: no retry policy tries its task again. */
export class FinalFailure extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'FinalFailure';
  }
}
