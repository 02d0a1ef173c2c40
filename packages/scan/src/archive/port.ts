import type { ObjectReader } from '../source/port.ts';

export type ArchiveFormat =
  CompressedFormat | 'zip' | 'tar' | 'deb' | 'rpm' | 'cpio' | '7z' | 'rar' | 'sqlite' | 'sqlite-wal' | 'pdf';

/** Formats of one compressed file. */
export type CompressedFormat = (typeof COMPRESSED_FORMATS)[number];

export const COMPRESSED_FORMATS = ['gzip', 'bzip2', 'xz', 'zstd', 'lz4', 'lzma'] as const;

/** One entry of an archive. */
export interface ArchiveEntry {
  /**
   * The stored name as UTF-8; never used as a path on this machine. A compressed file without a name takes its
   * archive's name without the suffix.
   */
  name: string;
  kind: 'file' | 'directory' | 'link' | 'special';
  /** Declared unpacked size; -1 if unknown. Never trusted. */
  size_hint: number;
  /**
   * Opens the content, read front to back (`access: 'carry'`). Call it once, before requesting the next entry. Its
   * reads throw faults (encrypted, malformed, budgets) as `ObjectFault`.
   */
  open(): ObjectReader;
}

/** Reads an archive front to back in bounded memory. */
export interface ArchiveReader {
  readonly format: ArchiveFormat;
  /**
   * Returns the next entry, or null after the last one; skips what is left of the previous entry. Rejects with
   * `ObjectFault` if the archive cannot be read further or one of its budgets is exhausted.
   */
  next(): Promise<ArchiveEntry | null>;
  close(): void | Promise<void>;
}
