import { availableParallelism } from 'node:os';

import { bytes, choice, defaultsOf, duration, integer, repeated, toggle, type ValuesOf } from '@heddle/base/setting';

import type { VerifyOptions } from './verify/options.ts';
import { CONFIDENCES } from '@heddle/base/vocabulary/confidence';

/**
 * Options of a scan: plain data that crosses threads; validated at the boundary, trusted here. Flags, their help, types,
 * ranges, defaults and the members of tasks derive from the declarations below; a member is its key in snake case.
 */

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
   * `git rev-list`; default: all references. `unreachable` adds what no reference leads to: abandoned commits, those
   * of reflogs, and blobs that were staged and never committed.
   */
  | { type: 'git'; repository: string; revisions?: readonly string[]; since?: string; unreachable?: boolean }
  /**
   * The changes of the next commit, from the index. `index_file` if it is not the repository's own, as in some hooks.
   */
  | { type: 'staged'; repository: string; index_file?: string }
  /** The lines that a unified diff adds, from a file. */
  | { type: 'diff'; name: string; file: string }
  /** `endpoint` for other services that implement the S3 API. */
  | { type: 's3'; bucket: string; prefix?: string; endpoint?: string; region?: string; force_path_style?: boolean }
  /** A bucket of Google Cloud Storage. */
  | { type: 'gcs'; bucket: string; prefix?: string; endpoint?: string }
  /**
   * A container of Azure Blob Storage. `address` begins the paths of its objects. Without `endpoint`, that of an
   * account, the account is that of the environment.
   */
  | { type: 'azure'; container: string; prefix?: string; endpoint?: string; address: string }
  /**
   * Layers and configuration of container images: of a registry, or by a path that begins with `/`, `./` or `../` in an
   * archive or a directory. `platform` as in `linux/arm64`, or `all`.
   */
  | { type: 'image'; images: readonly string[]; platform?: string }
  /**
   * The repositories of an organization, a group or a user with their histories, wikis, issues and pull requests, or
   * those of one repository. `endpoint`: the address of a server of one's own.
   */
  | {
      type: 'github' | 'gitlab';
      owner: string;
      endpoint?: string;
      include_forks?: boolean;
      skip_archived?: boolean;
      skip_wikis?: boolean;
      skip_issues?: boolean;
      /** Larger repositories are not scanned. */
      clone_bytes_max: number;
    }
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

/** Rule sets in the TOML format, each with a name for error messages. */
export interface RuleText {
  name: string;
  toml: string;
  /** Its descriptions of verifications are ignored: it was found in scanned content, or came with a task. */
  untrusted?: boolean;
}

const KIB = 1024;
const MIB = KIB * KIB;
const PIB = KIB ** 5;
const THREADS_DEFAULT_MAX = 8;

export const PATH_OPTIONS = {
  exclude: repeated('--exclude <glob>', 'Exclude matching paths; may be repeated'),
  include: repeated('--include <glob>', 'Only matching paths; may be repeated'),
};

export const RULE_OPTIONS = {
  enable: repeated('--enable <rule>', 'Only this rule; may be repeated'),
  disable: repeated('--disable <rule>', 'Disable this rule; may be repeated'),
  decodeDepth: integer({
    flag: '--decode-depth <count>',
    fallback: 2,
    min: 0,
    max: 10,
    description: 'Maximum depth of nested encodings',
  }),
  inlineIgnores: toggle('--no-inline-ignores', 'Ignore inline suppressions'),
  confidence: choice({
    flag: '--confidence <level>',
    fallback: 'medium',
    words: CONFIDENCES,
    description: 'Minimum confidence of findings; others are counted',
  }),
};

export const LIMIT_OPTIONS = {
  threads: integer({
    flag: '--threads <count>',
    fallback: Math.min(THREADS_DEFAULT_MAX, availableParallelism()),
    fallbackText: 'number of cores, at most 8',
    min: 1,
    max: 256,
    description: 'Number of scanning threads',
  }),
  objectBytesMax: bytes({
    flag: '--max-object-size <size>',
    fallback: 0,
    min: 0,
    max: PIB,
    description: 'Maximum size of an object; larger ones are skipped; 0 for no limit',
  }),
  /** Without the overlap of chunks. */
  chunkBytes: bytes({
    flag: '--chunk-size <size>',
    fallback: 512 * KIB,
    min: 4 * KIB,
    max: 2 * MIB,
    description: 'Bytes read at once',
  }),
  frontierCapacity: integer({
    flag: '--frontier <count>',
    fallback: 1024,
    min: 1,
    max: 1_000_000,
    description: 'Concurrent objects',
  }),
  /** A slower rule is stopped and reported. */
  ruleTimeoutMs: duration({
    flag: '--rule-timeout <time>',
    fallback: 5000,
    min: 1,
    max: 3_600_000,
    description: 'Timeout of one rule on one object',
  }),
  /** The text around secrets leaves the scan with all known secrets masked. */
  contextLines: integer({
    flag: '--context <lines>',
    fallback: 3,
    min: 0,
    max: 10,
    description: 'Lines of context on each side of a secret; 0 for none',
  }),
};

const unpacked = { min: 0, max: PIB };

/** Limits of one archive. */
export const ARCHIVE_OPTIONS = {
  enabled: toggle('--no-archives', 'Scan archives without unpacking them'),
  /** If a limit is reached: skip the archive, keep what was read, or end the run. */
  policy: choice({
    flag: '--archive-policy <policy>',
    fallback: 'partial',
    words: ['skip', 'partial', 'fail-run'],
    description: 'Handling of archives that cannot be read completely',
  }),
  depthMax: integer({
    flag: '--archive-depth <count>',
    fallback: 3,
    min: 0,
    max: 100,
    description: 'Maximum nesting of archives',
  }),
  entriesMax: integer({
    flag: '--archive-entries <count>',
    fallback: 4096,
    min: 0,
    max: 100_000_000,
    description: 'Maximum entries of an archive',
  }),
  entryBytesMax: bytes({
    flag: '--archive-entry-bytes <size>',
    fallback: 64 * MIB,
    ...unpacked,
    description: 'Maximum unpacked bytes of an entry',
  }),
  archiveBytesMax: bytes({
    flag: '--archive-bytes <size>',
    fallback: 256 * MIB,
    ...unpacked,
    description: 'Maximum unpacked bytes of an archive',
  }),
  rootBytesMax: bytes({
    flag: '--archive-root-bytes <size>',
    fallback: 512 * MIB,
    ...unpacked,
    description: 'Maximum unpacked bytes of a file with everything in it',
  }),
  /** Checked once a few MiB are unpacked. */
  ratioMax: integer({
    flag: '--archive-ratio <number>',
    fallback: 128,
    min: 0,
    max: 1_000_000,
    description: 'Maximum ratio of unpacked to packed bytes',
  }),
  nameBytesMax: bytes({
    name: 'name_bytes_max',
    fallback: KIB,
    ...unpacked,
    description: 'Bytes after which the name of an entry is truncated',
  }),
};

export type ArchiveOptions = ValuesOf<typeof ARCHIVE_OPTIONS>;

export interface ScanOptions
  extends ValuesOf<typeof PATH_OPTIONS>, ValuesOf<typeof RULE_OPTIONS>, ValuesOf<typeof LIMIT_OPTIONS> {
  readonly sources: readonly SourceSpec[];
  /** Later ones extend and override earlier ones; empty: the built-in rules. */
  readonly rules: readonly RuleText[];
  readonly archives: ArchiveOptions;
  /** Whether and how secrets are verified at their providers; null: nothing is sent anywhere. */
  readonly verify: VerifyOptions | null;
}

export const SCAN_DEFAULTS: Omit<ScanOptions, 'sources'> = {
  rules: [],
  ...defaultsOf(PATH_OPTIONS),
  ...defaultsOf(RULE_OPTIONS),
  ...defaultsOf(LIMIT_OPTIONS),
  archives: defaultsOf(ARCHIVE_OPTIONS),
  verify: null,
};
