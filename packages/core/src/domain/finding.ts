import type { Confidence } from '@heddle/base/vocabulary/confidence';
import type { Verdict, Verification } from '@heddle/base/vocabulary/verdict';

/**
 * State of a finding: `new` in the latest run that saw it, `known` from an earlier one, `gone` since a complete run
 * that did not see it.
 */
export const FINDING_STATES = ['new', 'known', 'gone'] as const;
export type FindingState = (typeof FINDING_STATES)[number];

/** Triage by users. */
export const TRIAGE_STATES = ['open', 'ignored', 'false_positive'] as const;
export type TriageState = (typeof TRIAGE_STATES)[number];

export const TARGET_CHARACTERS_MAX = 200;
export const COMMENT_CHARACTERS_MAX = 1000;
export const ELSEWHERE_MAX = 20;

/** Commit that introduced it, if the source reads a history. */
export interface FindingCommit {
  id: string;
  author: string;
  /** RFC 3339. */
  date: string;
  /** The first line of its message, without secrets; absent in findings of older versions. */
  subject?: string;
}

/** A line around the secret, masked. */
export interface FindingLine {
  /** From 1. */
  number: number;
  text: string;
  /** The part of the text that matched, in UTF-16 units. */
  mark?: { start: number; end: number };
}

/** Location in the latest run that saw it. Lines and columns count from 1, columns in bytes. */
export interface FindingPlace {
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  /** Shannon entropy of the secret, bits per character. */
  entropy: number;
  /** Encodings around it, outermost first: `base64`. */
  encodings: readonly string[];
  confidence: Confidence;
  /** Null from older versions. */
  confidence_reason: string | null;
  /** Keys that lead to it in a structured file: `spec.env[3].value`. */
  key_path: string | null;
  /** The name beside it: `DB_PASSWORD`. */
  key_name: string | null;
  commit: FindingCommit | null;
}

/** Secret found by one run, without its value; scans pass it to the merge. */
export interface ReportedFinding extends FindingPlace {
  /** Hash of rule, path and secret: 32 hexadecimal digits. */
  fingerprint: string;
  rule_id: string;
  description: string;
  tags: readonly string[];
  path: string;
  /** Beginning of the secret, the rest masked. */
  redacted: string;
  /** Number of occurrences in this object. */
  occurrences: number;
  /** Hash of the secret alone: 32 hexadecimal digits. Null without a secret, and from older versions. */
  secret_id: string | null;
  /** What its provider said of the secret; null unless it was verified. */
  verification: Verification | null;
  /** The first occurrence with the lines around it; empty if there is none to show. */
  context: readonly FindingLine[];
}

/** Secret of one target across all its runs. Times are milliseconds since the epoch. */
export interface TrackedFinding extends Omit<ReportedFinding, 'context'> {
  id: string;
  target: string;
  state: FindingState;
  /** Ids of runs that saw it. */
  runs: number;
  first_seen: number;
  last_seen: number;
  /** Null unless it is gone. */
  gone_at: number | null;
  triage: Triage;
}

/** A finding with what is only read for one at a time. */
export interface FindingDetail extends TrackedFinding {
  context: readonly FindingLine[];
  /** Other findings of the same secret, newest first, at most `ELSEWHERE_MAX`. */
  elsewhere: readonly SamePlace[];
}

/** Where a secret was found, too. */
export type SamePlace = Pick<
  TrackedFinding,
  'id' | 'target' | 'path' | 'line' | 'state' | 'first_seen' | 'last_seen'
> & {
  triage: TriageState;
};

export interface Triage {
  state: TriageState;
  /** Name of the token; null if none is needed, and until it is reviewed. */
  by: string | null;
  at: number | null;
  comment: string | null;
}

/** Result of one run for its target. */
export interface ScanRunCounts {
  new: number;
  known: number;
  gone: number;
}

export interface ScanRun extends ScanRunCounts {
  /** Task that merged it. */
  id: string;
  target: string;
  /** Counts from 1, per target. */
  number: number;
  started_at: number;
  /** Null while it is being merged. */
  ended_at: number | null;
  /** Whether it covered everything: only then can findings be gone. */
  complete: boolean;
  /** By rule id, most findings first. */
  by_rule: readonly ({ rule_id: string } & ScanRunCounts)[];
}

/** Everything scanned under one name. */
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
  /** Only findings that are at least this certain. */
  confidence?: Confidence;
  /** Only findings whose secret has this verdict. */
  verdict?: Verdict;
  /** Only findings of this secret. */
  secret_id?: string;
  /** First seen at or after this time, milliseconds since the epoch. */
  since?: number;
}

/** What a provider said of the secret of a finding. */
export interface VerifiedFinding {
  fingerprint: string;
  verification: Verification;
}

export interface TriageChange {
  state: TriageState;
  comment: string | null;
  by: string | null;
}

export interface TriageOutcome {
  id: string;
  /** False if it had this state and comment already. */
  changed: boolean;
}
