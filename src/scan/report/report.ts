import type { Finding, Problem, ScanSummary } from '../result.ts';

/** Takes text in order. Writes at once or in bounded buffers: reports keep nothing back for it. */
export interface TextSink {
  write(text: string): void;
}

/** What became of the findings that were not reported, and of those that a baseline lists. */
export interface BaselineCounts {
  /** Found again: in the baseline, as often as it lists them. */
  known: number;
  /** In the baseline and not found; sure only where the scan was complete. */
  gone: number;
}

/** How a run ended, for reports: the scan's own summary, with what was left out of them. */
export interface ReportSummary extends ScanSummary {
  /** Findings that the report shows. */
  reported: number;
  /** Findings that a list of fingerprints exempts. */
  ignored: number;
  /** Only where there was a baseline. */
  baseline?: BaselineCounts;
}

/**
 * One report being written: findings and problems as they come, in the order of the objects, then the end, exactly once.
 * Memory does not grow with the number of findings. Findings are redacted by who hands them over.
 */
export interface ScanReport {
  finding(finding: Finding): void;
  problem(problem: Problem): void;
  end(summary: ReportSummary): void;
}

export const REPORT_FORMATS = ['text', 'jsonl', 'sarif', 'junit'] as const;

export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** Colours a text, or leaves it as it is where the reader is no terminal. */
export type Paint = (style: 'bold' | 'red' | 'green' | 'yellow' | 'cyan' | 'gray', text: string) => string;
