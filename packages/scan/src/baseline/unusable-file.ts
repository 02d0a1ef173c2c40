/** A file named for a scan that cannot be used; the message says what is wrong and where. */
export class UnusableFile extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnusableFile';
  }
}
