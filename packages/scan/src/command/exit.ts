/** Exit codes of `heddle scan`: errors take precedence over findings, findings over skipped input. */
export const SCAN_EXIT = {
  clean: 0,
  findings: 1,
  error: 2,
  /** No findings, but some input could not be scanned. */
  incomplete: 3,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

export type ScanExit = (typeof SCAN_EXIT)[keyof typeof SCAN_EXIT];
