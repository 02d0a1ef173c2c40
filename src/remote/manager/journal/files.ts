/** Where the journal lies: a directory in production, a disk that fails at any byte in tests. */
export interface JournalFiles {
  /** Names of the segments that are there, in no order. */
  list(): Promise<readonly string[]>;
  size(name: string): Promise<number>;
  /** As many bytes as there are, at most `length`. */
  read(name: string, at: number, length: number): Promise<Buffer>;
  /**
   * Makes a file that was not there; its name is durable when it resolves.
   *
   * @param durable whether each write to it resolves when the disk has it, not the system alone
   */
  create(name: string, durable: boolean): Promise<JournalFile>;
  remove(name: string): Promise<void>;
}

/** One file that is written to its end. */
export interface JournalFile {
  write(bytes: Uint8Array, at: number): Promise<void>;
  /** Forgets what stands behind; resolves when the disk has forgotten it. */
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}
