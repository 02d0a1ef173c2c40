/** Thrown by a handler whose every further attempt would fail too: the task is not retried. */
export class FinalFailure extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'FinalFailure';
  }
}
