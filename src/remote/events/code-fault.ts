/** Why code of an event cannot be had; the text is told to callers, so it names no place of this machine or network. */
export class CodeFault extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CodeFault';
  }
}
