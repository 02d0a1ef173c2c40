/** A file of keys, certificates or public keys that cannot be used; the message names the file and the remedy. */
export class KeyFileError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'KeyFileError';
  }
}
