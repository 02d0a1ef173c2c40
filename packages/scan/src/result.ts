import type { Confidence } from '@heddle/base/vocabulary/confidence';
import type { Verification } from '@heddle/base/vocabulary/verdict';

/**
 * The results of a scan: findings, problems and the summary. Plain data that crosses threads; bytes and offsets refer
 * to the object's own content.
 */

/** The commit that introduced an object; only for sources that read a history. */
export interface Commit {
  id: string;
  author: string;
  email: string;
  /** RFC 3339. */
  date: string;
  /** The first line of its message. */
  subject: string;
  /** Where its repository is, for one of a forge: `github.com/acme/shop`, with which the object's path begins. */
  repository?: string;
  /** The page of the object in that commit, or of the commit. */
  url?: string;
}

/** How a piece of text was encoded: `utf-16le`, `base64`, `url`. */
export type Encoding = 'utf-16le' | 'utf-16be' | 'base64' | 'url';

/** A line of the code around a match. */
export interface ContextLine {
  /** From 1. Numbers are not consecutive where a masked secret has several lines. */
  number: number;
  /** Secrets masked, and cut to about 200 characters: `…` is where. */
  text: string;
  /** The part of the text that the match has in it, in UTF-16 units, `end` excluded. */
  mark?: { start: number; end: number };
}

/** One secret at one location. */
export interface Finding {
  rule_id: string;
  description: string;
  tags: readonly string[];
  /** The object's path; entries of archives follow their archive after `!`: `backup.zip!etc/app.env`. */
  path: string;
  /** From 1, start and end of the match. Columns count bytes. */
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  /** Bytes before the match, from 0, and its length; for decoded text, those of the encoded text. */
  offset: number;
  length: number;
  /** The whole match and the secret within it, unredacted. Redact them before display. */
  match: string;
  secret: string;
  /** Shannon entropy of the secret, in bits per character. */
  entropy: number;
  /** Outermost first; empty for plain text. */
  encodings: readonly Encoding[];
  confidence: Confidence;
  /** Why: a sentence without the secret, such as `the value begins with "ghp_"`. */
  confidence_reason: string;
  /** Where a structured file holds it: `spec.env[3].value`. */
  key_path?: string;
  /** The name beside it, if that is not the last key of the path: `DB_PASSWORD`. */
  key_name?: string;
  /** 32 hexadecimal digits of rule, path and secret: unaffected by line moves. */
  fingerprint: string;
  commit?: Commit;
  /**
   * The lines of the match and around it, always masked; at most 2,000 characters. Absent for binary content, without
   * lines to show, and after the first 1,000 of an object.
   */
  context?: readonly ContextLine[];
  /** Only of scans that verify. */
  verification?: Verification;
}

/** A finding before it is verified. */
export interface DetectedFinding extends Finding {
  /** What its verification needs besides the secret, unredacted. */
  companions?: Readonly<Record<string, string>>;
}

/** Why an object was not scanned completely. Reports explain each code. */
export type ProblemCode =
  | 'unreadable'
  | 'vanished'
  | 'changed_while_read'
  | 'special_file'
  | 'link_not_followed'
  | 'too_large'
  | 'findings_dropped'
  | 'encrypted'
  | 'malformed_archive'
  | 'unsupported_archive'
  | 'unsafe_name'
  | 'depth_budget'
  | 'entry_count_budget'
  | 'entry_bytes_budget'
  | 'archive_bytes_budget'
  | 'root_bytes_budget'
  | 'ratio_budget'
  | 'name_budget'
  | 'overlapping_entries'
  | 'rule_timed_out'
  | 'source_failed';

/** One object, or part of one, that was not scanned completely, and why. Never fatal by itself. */
export interface Problem {
  code: ProblemCode;
  /** As in a finding; for a source that failed, the source's name. */
  path: string;
  /** One sentence with the figures: `the entry holds more than 64 MiB`. */
  message: string;
  /** `skipped`: nothing of it was scanned; `partial`: some of it was; `notice`: it was scanned, or needs no scan. */
  extent: 'skipped' | 'partial' | 'notice';
}

/** Counters of the steps, per thread; merged at the end. */
export interface TaskMetrics {
  enumerate_count: number;
  objects_discovered: number;
  enumerate_backpressure: number;
  fetch_sync_count: number;
  /** With overlap. */
  bytes_fetched: number;
  scan_count: number;
  /** Without overlap. */
  bytes_scanned: number;
  objects_completed: number;
}

/** How a run ended: `complete` scanned everything, `incomplete` lists what it left out as problems. */
export type ScanOutcome = 'complete' | 'incomplete' | 'aborted';

export interface ScanSummary {
  outcome: ScanOutcome;
  /** Reason of an abort: a sentence. */
  reason?: string;
  findings: number;
  /** Findings that are less certain than wanted: not among `findings`, nor reported. */
  below_confidence: number;
  problems: number;
  /** Merged from all threads. */
  metrics: TaskMetrics;
  /** Maximum number of permits in use at the same time. */
  frontier_peak: number;
  duration_ms: number;
}

export interface ScanProgress {
  objects_discovered: number;
  objects_completed: number;
  bytes_scanned: number;
  findings: number;
  problems: number;
  in_flight: number;
  /** Findings that wait for the answer of a provider; only of scans that verify. */
  verifying?: number;
  /** The oldest object in flight. */
  current?: string;
  /** What the listing waits for, if that takes long: `cloning github.com/acme/shop`. */
  waiting_for?: string;
  /** True once every source has been listed: `objects_discovered` is then the total of top-level objects. */
  discovery_done: boolean;
}
