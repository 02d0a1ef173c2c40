/** Thrown by a handler that succeeded only in part: the task becomes partially failed and keeps `result`. */
export class PartialFailure extends Error {
  readonly result: unknown;

  constructor(message: string, options: { result?: unknown; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PartialFailure';
    this.result = options.result;
  }
}
