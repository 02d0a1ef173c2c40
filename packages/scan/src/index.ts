/** The scanner as a library: `import { startScan } from '@heddle/scan'`. */
export { startScan, type ScanEnvironment, type ScanObserver } from './scan.ts';
export { SCAN_DEFAULTS, type ScanOptions, type SourceSpec } from './options.ts';
export type { Finding, Problem, ScanProgress, ScanSummary } from './result.ts';
