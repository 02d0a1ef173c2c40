import type { ObjectReader } from '../source/port.ts';

export type ArchiveFormat = 'zip' | 'tar' | 'gzip' | 'bzip2' | 'xz' | 'zstd';

/** One thing in an archive. */
export interface ArchiveEntry {
  /** As the archive has it, as UTF-8; never used as a path on this machine. Of a compressed file without a name: its archive's name less the ending. */
  name: string;
  kind: 'file' | 'directory' | 'link' | 'special';
  /** Unpacked bytes as stated; -1 where the archive does not say. Never trusted. */
  size_hint: number;
  /**
   * Reads its content, front to back (`access: 'carry'`). Once, before the next entry is asked for. Faults (encrypted,
   * malformed, budgets) are thrown by its reads as `ObjectFault`.
   */
  open(): ObjectReader;
}

/** An archive being read from front to back, in bounded memory. */
export interface ArchiveReader {
  readonly format: ArchiveFormat;
  /**
   * The next entry, or null after the last. What is left of the one before is passed over. Rejects with `ObjectFault`
   * where the archive cannot be read on, or a budget of it has ended.
   */
  next(): Promise<ArchiveEntry | null>;
  close(): void | Promise<void>;
}
