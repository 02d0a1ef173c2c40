import type { ArchivePolicy } from '../options.ts';
import type { ReportFormat } from '../report/report.ts';

export { REPORT_FORMATS, type ReportFormat } from '../report/report.ts';
export type { ScanProgress } from '../result.ts';

/** The options of `heddle scan`, each value already validated. */
export interface ScanRequest {
  /** Files, directories, `-` for standard input, `s3://bucket/prefix`. */
  paths: readonly string[];
  followLinks: boolean;
  /** Walk the object stores of git repositories in directories. */
  gitObjects: boolean;
  git: readonly string[];
  /** Scan the changes staged for the next commit, in the repositories of `paths`. */
  staged: boolean;
  revisions: readonly string[];
  since?: string | undefined;
  s3: { endpoint?: string | undefined; region?: string | undefined; pathStyle: boolean };
  /** A list of files: a file, or `-`. */
  filesFrom?: string | undefined;
  /** The list is separated by NUL instead of newlines. */
  nullSeparated: boolean;
  rules: {
    files: readonly string[];
    /** `extend`: with the built-in rules; `only`: without them, whatever the files say; null: as the files say. */
    builtin: 'extend' | 'only' | null;
    /** Search the scanned directories for rules and lists of fingerprints. */
    discover: boolean;
    enable: readonly string[];
    disable: readonly string[];
  };
  exclude: readonly string[];
  include: readonly string[];
  objectBytesMax: number;
  threads: number;
  frontier: number;
  chunkBytes: number;
  archives: {
    enabled: boolean;
    policy: ArchivePolicy;
    depth: number;
    entries: number;
    entryBytes: number;
    archiveBytes: number;
    rootBytes: number;
    ratio: number;
  };
  decodeDepth: number;
  inlineIgnores: boolean;
  ruleTimeoutMs: number;
  baseline?: string | undefined;
  writeBaseline?: string | undefined;
  ignoreFiles: readonly string[];
  state?: string | undefined;
  format: ReportFormat;
  /** The report is written here instead of to standard output. */
  output?: string | undefined;
  /** Further reports. */
  reports: readonly { format: ReportFormat; path: string }[];
  showSecrets: boolean;
  quiet: boolean;
  /** Whether an incomplete scan without findings has its own exit code. */
  failOnIncomplete: boolean;
}
