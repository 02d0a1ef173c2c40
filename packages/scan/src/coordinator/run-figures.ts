import { emptyMetrics, mergeMetrics } from '../graph/metrics.ts';
import type { ScanProgress, ScanSummary, TaskMetrics } from '../result.ts';
import type { NumberedObject } from './numbered-object.ts';
import type { ResultReporter } from './result-reporter.ts';

export function totalOf(parts: readonly TaskMetrics[]): TaskMetrics {
  const total = emptyMetrics();
  for (const part of parts) mergeMetrics(total, part);
  return total;
}

/** Computes the progress of a run. `first`: the oldest object of each thread. */
export function progressOf(
  metrics: TaskMetrics,
  { findings, problems }: ResultReporter,
  first: readonly (NumberedObject | undefined)[],
  at: Pick<ScanProgress, 'in_flight' | 'discovery_done' | 'waiting_for'>,
): ScanProgress {
  const { objects_discovered, objects_completed, bytes_scanned } = metrics;
  const oldest = first.reduce((a, b) => (a === undefined || (b !== undefined && b.index < a.index) ? b : a), undefined);
  return {
    objects_discovered,
    objects_completed,
    bytes_scanned,
    findings,
    problems,
    ...(oldest === undefined ? {} : { current: oldest.path }),
    ...at,
  };
}

/** Builds the summary of a run. `abortReason`: null if it completed. */
export function summaryOf(
  abortReason: string | null,
  { findings, belowConfidence, problems, gaps }: ResultReporter,
  figures: Pick<ScanSummary, 'metrics' | 'frontier_peak' | 'duration_ms'>,
): ScanSummary {
  return {
    outcome: abortReason !== null ? 'aborted' : gaps > 0 ? 'incomplete' : 'complete',
    ...(abortReason === null ? {} : { reason: abortReason }),
    findings,
    below_confidence: belowConfidence,
    problems,
    ...figures,
  };
}
