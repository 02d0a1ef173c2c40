/** What became of a secret over the runs that looked for it: `new` in the latest run that saw it, `known` from an earlier one, `gone` since a run that covered everything. */
export const FINDING_STATES = ['new', 'known', 'gone'] as const;
export type FindingState = (typeof FINDING_STATES)[number];

/** What people made of it. */
export const TRIAGE_STATES = ['open', 'ignored', 'false_positive'] as const;
export type TriageState = (typeof TRIAGE_STATES)[number];

export const TARGET_CHARACTERS_MAX = 200;
export const COMMENT_CHARACTERS_MAX = 1000;

/** The commit that brought it in, where the source reads a history. */
export interface FindingCommit {
  id: string;
  author: string;
  /** RFC 3339. */
  date: string;
}

/** Where it stood in the latest run that saw it. Lines and columns count from 1, columns in bytes. */
export interface FindingPlace {
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  /** Shannon entropy of the secret, in bits a character. */
  entropy: number;
  /** Under which it stood, outermost first: `base64`. */
  encodings: readonly string[];
  commit: FindingCommit | null;
}

/** A secret that one run found, without the secret: what scans hand on to whoever merges them. */
export interface ReportedFinding extends FindingPlace {
  /** 32 hexadecimal digits of rule, path and secret. */
  fingerprint: string;
  rule_id: string;
  description: string;
  tags: readonly string[];
  path: string;
  /** The beginning of the secret, the rest masked. */
  redacted: string;
  /** How often it stands in this object. */
  occurrences: number;
}

/** A secret of one target over all its runs. Times are milliseconds since the epoch. */
export interface TrackedFinding extends ReportedFinding {
  id: string;
  target: string;
  state: FindingState;
  /** Runs that saw it. */
  runs: number;
  first_seen: number;
  last_seen: number;
  /** Null unless it is gone. */
  gone_at: number | null;
  triage: Triage;
}

export interface Triage {
  state: TriageState;
  /** The name of the token; null where none is needed, and where nobody has looked at it. */
  by: string | null;
  at: number | null;
  comment: string | null;
}

/** What one run made of its target. */
export interface ScanRunCounts {
  new: number;
  known: number;
  gone: number;
}

export interface ScanRun extends ScanRunCounts {
  /** The task that merged it. */
  id: string;
  target: string;
  /** From 1, by target. */
  number: number;
  started_at: number;
  /** Null while it is being merged. */
  ended_at: number | null;
  /** Whether it covered everything: only then are findings gone. */
  complete: boolean;
  /** By the rules' ids, those with most findings first. */
  by_rule: readonly ({ rule_id: string } & ScanRunCounts)[];
}

/** Everything that is scanned under one name. */
export interface ScanTarget {
  target: string;
  runs: number;
  last_run: ScanRun | null;
}

export interface FindingFilter {
  target?: string;
  rule_id?: string;
  states?: readonly FindingState[];
  triage?: TriageState;
  path_prefix?: string;
  /** First seen at or after this moment, milliseconds since the epoch. */
  since?: number;
}

export interface TriageChange {
  state: TriageState;
  comment: string | null;
  by: string | null;
}
