import type { Finding, Problem, ScanSummary } from '../result.ts';

/** Receives text in order. Writes at once or in bounded buffers. */
export interface TextSink {
  write(text: string): void;
}

/** Counts of findings suppressed by a baseline, and of baseline entries not found. */
export interface BaselineCounts {
  /** Found again: in the baseline, as often as it lists them. */
  known: number;
  /** In the baseline and not found; reliable only if the scan was complete. */
  gone: number;
}

/** Verdicts on findings that no list and no baseline exempts. */
export interface VerdictCounts {
  active: number;
  inactive: number;
  unknown: number;
  /** Those that --only-active leaves out of the report. */
  not_shown: number;
}

/** A finding as a report shows it: redacted by the caller, with the identity of its secret. */
export interface ReportedFinding extends Finding {
  /** 32 hexadecimal digits, the same for all places of one secret; null if only the path matched. */
  secret_id: string | null;
}

/** The summary of a run for reports, including what reports suppress. */
export interface ReportSummary extends ScanSummary {
  /** Findings that the report shows. */
  reported: number;
  /** Secrets among them, each counted once, up to 100,000. */
  secrets: number;
  /** Findings that a list of fingerprints exempts. */
  ignored: number;
  /** Present only if something was verified. */
  verdicts?: VerdictCounts;
  /** Present only with a baseline. */
  baseline?: BaselineCounts;
}

/**
 * Writes one report: findings and problems in the order of the objects, then the end, exactly once. Uses bounded
 * memory, however many findings there are. The caller redacts findings.
 */
export interface ScanReport {
  finding(finding: ReportedFinding): void;
  problem(problem: Problem): void;
  end(summary: ReportSummary): void;
}

export const REPORT_FORMATS = ['text', 'jsonl', 'sarif', 'junit', 'html', 'csv', 'template'] as const;

export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** Colours text, or returns it unchanged if the output is not a terminal. */
export type Paint = (style: 'bold' | 'red' | 'green' | 'yellow' | 'cyan' | 'gray', text: string) => string;
