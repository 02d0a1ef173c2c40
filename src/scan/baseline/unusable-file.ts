/** A file that was named for a scan and cannot be used; the message says what is wrong with it, and where. */
export class UnusableFile extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnusableFile';
  }
}
