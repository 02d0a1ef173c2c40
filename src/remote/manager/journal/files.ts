/** Where the journal lies: a directory in production, a disk that fails at any byte in tests. */
export interface JournalFiles {
  /** Names of the segments that are there, in no order. */
  list(): Promise<readonly string[]>;
  size(name: string): Promise<number>;
  /** As many bytes as there are, at most `length`. */
  read(name: string, at: number, length: number): Promise<Buffer>;
  /** Makes a file that was not there; its name is durable when it resolves. */
  create(name: string): Promise<JournalFile>;
  remove(name: string): Promise<void>;
}

/** One file that is written to its end. */
export interface JournalFile {
  /** Resolves when the system has all of it. */
  write(bytes: Uint8Array, at: number): Promise<void>;
  /** Resolves when the disk has all of it. */
  sync(): Promise<void>;
  /** Forgets what stands behind. */
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}
