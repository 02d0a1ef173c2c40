/** Reports why code is unavailable. The message reaches callers, so it must not name paths or hosts of this machine. */
export class CodeFault extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CodeFault';
  }
}
