/** What a scan is told. Plain data that crosses threads; `parse`d at the edges, trusted here. */

/** Where objects come from. */
export type SourceSpec =
  /**
   * A file, or a directory with all below it. Object stores of git repositories hold compressed content of the history,
   * which the source `git` reads; `git_objects` walks them nevertheless.
   */
  | { type: 'path'; path: string; follow_links?: boolean; git_objects?: boolean; slice?: PathSlice }
  | { type: 'stdin'; name: string }
  /** Every blob of the history once, with its first commit, and the messages of commits and tags. `revisions` as git's `rev-list` takes them; default: all references. */
  | { type: 'git'; repository: string; revisions?: readonly string[]; since?: string }
  /** What the next commit changes, as the index has it. `index_file` where it is not the repository's own, as in some hooks. */
  | { type: 'staged'; repository: string; index_file?: string }
  /** `endpoint` for services that speak the S3 API elsewhere. */
  | { type: 's3'; bucket: string; prefix?: string; endpoint?: string; region?: string; force_path_style?: boolean }
  /**
   * Paths, each a file; from a list of the caller's, or one a line from a file. `latin1`: each character is a byte, for
   * paths that are not UTF-8.
   */
  | { type: 'list'; name: string; paths: readonly string[]; encoding?: 'utf8' | 'latin1' };

/** The part of a directory after one entry, up to and with another one; null: from its beginning, to its end. */
export interface PathSlice {
  /** Names (latin1 of their bytes) from the directory down to the entry. */
  from: readonly string[] | null;
  through: readonly string[] | null;
}

/** What happens when a budget of an archive ends: leave all of it out, keep what was read, or end the run. */
export type ArchivePolicy = 'skip' | 'partial' | 'fail-run';

/** Bounds of what one archive may unfold to. Bytes are unpacked bytes. */
export interface ArchiveBudgets {
  depth_max: number;
  entries_max: number;
  entry_bytes_max: number;
  archive_bytes_max: number;
  /** Of everything below one top-level object. */
  root_bytes_max: number;
  /** Unpacked to packed, looked at once `ratio_floor_bytes` were unpacked. */
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

/** Text of rule sets in the TOML format, each with its name for error messages. */
export interface RuleText {
  name: string;
  toml: string;
}

export interface DetectionOptions {
  /** Later ones extend and override earlier ones; none: the rules that come with Heddle. */
  rules: readonly RuleText[];
  /** Only these rules, by id. */
  enable?: readonly string[];
  /** All but these. */
  disable?: readonly string[];
  /** How often decoded text is looked at for more encoded text; 0 decodes nothing. */
  decode_depth: number;
  /** Honour comments that exempt their line. */
  inline_ignores: boolean;
  /** One rule on one object longer than this is stopped and reported. */
  rule_timeout_ms: number;
}

export interface ScanOptions {
  sources: readonly SourceSpec[];
  detection: DetectionOptions;
  archives: ArchiveOptions;
  /** Globs of paths that are left out, and, where there are any, the only ones that are looked at. */
  exclude: readonly string[];
  include: readonly string[];
  /** Larger objects are reported, not scanned; 0: no bound. */
  object_bytes_max: number;
  /** Worker threads, at least 1. */
  threads: number;
  /** Objects in flight at once. */
  frontier_capacity: number;
  /** Bytes of one chunk, without its overlap: 1 to 4 MiB. */
  chunk_bytes: number;
}

/** What a scan does unless it is told otherwise. Threads are chosen by who starts it: those of the machine, up to 8. */
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
