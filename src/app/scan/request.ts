import type { ArchivePolicy } from '../../scan/options.ts';
import type { ReportFormat } from '../../scan/report/report.ts';

export { REPORT_FORMATS, type ReportFormat } from '../../scan/report/report.ts';
export type { ScanProgress } from '../../scan/result.ts';

/** What `heddle scan` was asked for, each value already within its bounds. */
export interface ScanRequest {
  /** Files, directories, `-` for standard input, `s3://bucket/prefix`. */
  paths: readonly string[];
  followLinks: boolean;
  /** Walk the object stores of git repositories in directories. */
  gitObjects: boolean;
  git: readonly string[];
  /** What is staged for the next commit, in the repositories that `paths` name. */
  staged: boolean;
  revisions: readonly string[];
  since?: string | undefined;
  s3: { endpoint?: string | undefined; region?: string | undefined; pathStyle: boolean };
  /** A list of files: its own file, or `-`. */
  filesFrom?: string | undefined;
  /** The list is separated by NUL, not by newlines. */
  nullSeparated: boolean;
  rules: {
    files: readonly string[];
    /** `extend`: with Heddle's own; `only`: without them, whatever the files say; null: as the files say. */
    builtin: 'extend' | 'only' | null;
    /** Look for rules and lists of fingerprints in what is scanned. */
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
  /** The report goes here instead of to standard output. */
  output?: string | undefined;
  /** Further reports. */
  reports: readonly { format: ReportFormat; path: string }[];
  showSecrets: boolean;
  quiet: boolean;
  /** Whether an incomplete scan without findings is told by its own exit code. */
  failOnIncomplete: boolean;
}
