/** What a scan says: findings, problems and the summary. Plain data that crosses threads; bytes and offsets are of the object's own content. */

/** The commit that brought an object in; only of sources that read a history. */
export interface Commit {
  id: string;
  author: string;
  email: string;
  /** RFC 3339. */
  date: string;
  /** The first line of its message. */
  subject: string;
}

/** How a piece of text was found under another one: `utf-16le`, `base64`, `url`. */
export type Encoding = 'utf-16le' | 'utf-16be' | 'base64' | 'url';

/** One secret at one place. */
export interface Finding {
  rule_id: string;
  description: string;
  tags: readonly string[];
  /** Where: the object's path; entries of archives follow their archive after `!`: `backup.zip!etc/app.env`. */
  path: string;
  /** From 1, of the beginning and the end of the match. Columns count bytes. */
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  /** Bytes before the match, from 0, and its length; in decoded text, those of the encoded text. */
  offset: number;
  length: number;
  /** The whole match and the secret within it, in clear. Who shows them redacts them first. */
  match: string;
  secret: string;
  /** Shannon entropy of the secret, in bits a character. */
  entropy: number;
  /** Outermost first; empty for text that stands there as it is. */
  encodings: readonly Encoding[];
  /** 32 hexadecimal digits of rule, path and secret: the same wherever the line moves to. */
  fingerprint: string;
  commit?: Commit;
}

/** Why an object was not scanned whole. Total: reports explain each. */
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

/** One object, or part of one, that was not scanned whole, and why. Never fatal by itself. */
export interface Problem {
  code: ProblemCode;
  /** As in a finding; of a source that failed, the source's name. */
  path: string;
  /** One sentence for people, with the figures: `the entry holds more than 64 MiB`. */
  message: string;
  /** `skipped`: nothing of it was scanned; `partial`: some of it was; `notice`: it was scanned, or is nothing to scan. */
  extent: 'skipped' | 'partial' | 'notice';
}

/** Counters of the steps, each of one thread; merged at the end. */
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

/** How a run ended: `complete` looked at all there is, `incomplete` names what it left out in its problems. */
export type ScanOutcome = 'complete' | 'incomplete' | 'aborted';

export interface ScanSummary {
  outcome: ScanOutcome;
  /** Why, where it was aborted: a sentence. */
  reason?: string;
  findings: number;
  problems: number;
  /** Merged from all threads. */
  metrics: TaskMetrics;
  /** The permits that were out at the same time, at most. */
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
  /** The oldest object in flight. */
  current?: string;
  /** True once every source has been listed: `objects_discovered` is then the total of top-level objects. */
  discovery_done: boolean;
}
