/** Storage of the journal: a directory in production, a disk that fails at any byte in tests. */
export interface JournalFiles {
  /** Lists the segment names, in no particular order. */
  list(): Promise<readonly string[]>;
  size(name: string): Promise<number>;
  /** Reads up to `length` bytes. */
  read(name: string, at: number, length: number): Promise<Buffer>;
  /**
   * Creates a new file; its name is durable when this resolves.
   *
   * @param durable whether each write resolves only when it is on disk rather than in the system's cache
   */
  create(name: string, durable: boolean): Promise<JournalFile>;
  remove(name: string): Promise<void>;
}

/** One file, written sequentially. */
export interface JournalFile {
  write(bytes: Uint8Array, at: number): Promise<void>;
  /** Removes everything after `size`; resolves when that is durable. */
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}
