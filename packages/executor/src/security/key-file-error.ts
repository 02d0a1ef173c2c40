/** An unusable file of keys or certificates; the message names the file and the remedy. */
export class KeyFileError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'KeyFileError';
  }
}
