/** Options of a scan. Plain data that crosses threads; validated at the boundary, trusted here. */

/** Where objects come from. */
export type SourceSpec =
  /**
   * A file, or a directory with everything below it. Object stores of git repositories contain the compressed history,
   * which the source `git` reads; `git_objects` walks them nevertheless.
   */
  | { type: 'path'; path: string; follow_links?: boolean; git_objects?: boolean; slice?: PathSlice }
  | { type: 'stdin'; name: string }
  /**
   * Every blob of the history once, with its first commit, and the messages of commits and tags. `revisions` as in
   * `git rev-list`; default: all references.
   */
  | { type: 'git'; repository: string; revisions?: readonly string[]; since?: string }
  /**
   * The changes of the next commit, from the index. `index_file` if it is not the repository's own, as in some hooks.
   */
  | { type: 'staged'; repository: string; index_file?: string }
  /** `endpoint` for other services that implement the S3 API. */
  | { type: 's3'; bucket: string; prefix?: string; endpoint?: string; region?: string; force_path_style?: boolean }
  /**
   * File paths, given as a list or read from a file, one per line. `latin1`: each character is a byte, for paths that
   * are not UTF-8.
   */
  | { type: 'list'; name: string; paths: readonly string[]; encoding?: 'utf8' | 'latin1' };

/** The part of a directory after one entry, up to and including another; null: from its beginning, to the end. */
export interface PathSlice {
  /** Names (latin1 of their bytes) from the directory down to the entry. */
  from: readonly string[] | null;
  through: readonly string[] | null;
}

/** What happens if a budget of an archive is exhausted: skip the archive, keep what was read, or end the run. */
export type ArchivePolicy = 'skip' | 'partial' | 'fail-run';

/** Limits of one archive. Bytes are unpacked bytes. */
export interface ArchiveBudgets {
  depth_max: number;
  entries_max: number;
  entry_bytes_max: number;
  archive_bytes_max: number;
  /** Of everything below one top-level object. */
  root_bytes_max: number;
  /** Unpacked to compressed size, checked once `ratio_floor_bytes` are unpacked. */
  ratio_max: number;
  name_bytes_max: number;
}

export interface ArchiveOptions {
  enabled: boolean;
  policy: ArchivePolicy;
  budgets: ArchiveBudgets;
}

const MIB = 1024 * 1024;

export const ARCHIVE_BUDGETS_DEFAULT: ArchiveBudgets = {
  depth_max: 3,
  entries_max: 4096,
  entry_bytes_max: 64 * MIB,
  archive_bytes_max: 256 * MIB,
  root_bytes_max: 512 * MIB,
  ratio_max: 128,
  name_bytes_max: 1024,
};

/** Rule sets in the TOML format, each with a name for error messages. */
export interface RuleText {
  name: string;
  toml: string;
}

export interface DetectionOptions {
  /** Later ones extend and override earlier ones; empty: the built-in rules. */
  rules: readonly RuleText[];
  /** Only these rules, by id. */
  enable?: readonly string[];
  /** All but these rules, by id. */
  disable?: readonly string[];
  /** Maximum nesting of encodings that is decoded; 0 decodes nothing. */
  decode_depth: number;
  /** Honour comments that exempt their line. */
  inline_ignores: boolean;
  /** Maximum time of one rule on one object; a slower rule is stopped and reported. */
  rule_timeout_ms: number;
}

export interface ScanOptions {
  sources: readonly SourceSpec[];
  detection: DetectionOptions;
  archives: ArchiveOptions;
  /** Globs of excluded paths, and of included ones; without the latter, all paths are included. */
  exclude: readonly string[];
  include: readonly string[];
  /** Larger objects are reported, not scanned; 0: no limit. */
  object_bytes_max: number;
  /** Worker threads, at least 1. */
  threads: number;
  /** Objects in flight at once. */
  frontier_capacity: number;
  /** Bytes of one chunk, without its overlap: 1 to 4 MiB. */
  chunk_bytes: number;
}

/** Default options of a scan. The caller sets the number of threads: by default that of the machine, up to 8. */
export const SCAN_DEFAULTS: Omit<ScanOptions, 'sources'> = {
  detection: { rules: [], decode_depth: 2, inline_ignores: true, rule_timeout_ms: 5000 },
  archives: { enabled: true, policy: 'partial', budgets: ARCHIVE_BUDGETS_DEFAULT },
  exclude: [],
  include: [],
  object_bytes_max: 0,
  threads: 1,
  frontier_capacity: 1024,
  chunk_bytes: MIB / 2,
};
