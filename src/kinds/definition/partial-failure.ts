/**
 * Thrown by a handler whose sub-tasks succeeded in part only: the task is then partially failed, and keeps `result`.
 */
export class PartialFailure extends Error {
  readonly result: unknown;

  constructor(message: string, options: { result?: unknown; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PartialFailure';
    this.result = options.result;
  }
}
