import type { ReportedFinding } from '../../domain/finding.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { Problem } from '../../scan/result.ts';

/** What a task of the kind `ObjectScan` leaves behind. */
export interface ScanTaskResult {
  outcome: 'complete' | 'incomplete';
  /** Without their secrets; those that are too many for a result stand in chunks before these. */
  findings: readonly ReportedFinding[];
  /** Of this attempt. */
  chunks: number;
  attempt: number;
  finding_count: number;
  /** Findings that nobody kept, because the worker has no database. */
  findings_lost: number;
  objects: number;
  bytes: number;
  problem_count: number;
  /** The first ones. */
  problems: readonly Problem[];
  duration_ms: number;
}

const FINGERPRINT = /^[0-9a-f]{32}$/;

/**
 * What such a task left behind, whoever ran it.
 *
 * @throws Error where it is no such result
 */
export function readTaskResult(taskId: string, data: unknown): ScanTaskResult {
  const result = data as Partial<ScanTaskResult> | null;
  const isResult =
    typeof result === 'object' &&
    result !== null &&
    (result.outcome === 'complete' || result.outcome === 'incomplete') &&
    Array.isArray(result.findings) &&
    Number.isSafeInteger(result.chunks) &&
    Number.isSafeInteger(result.attempt);
  if (!isResult) throw new Error(`the result of the task ${taskId} is not one of an ObjectScan`);
  for (const finding of result.findings!) requireFinding(taskId, finding);
  return result as ScanTaskResult;
}

function requireFinding(taskId: string, finding: Partial<ReportedFinding> | null): void {
  const { fingerprint, rule_id, path, redacted, description, occurrences } = finding ?? {};
  const texts = [rule_id, path, redacted, description];
  if (FINGERPRINT.test(fingerprint ?? '') && texts.every((text) => typeof text === 'string') && occurrences! > 0)
    return;
  throw new Error(`a finding of the task ${taskId} has no fingerprint, rule, path or count`);
}

/** As the engine stores it. */
export function asJson(result: ScanTaskResult): JsonObject {
  return result as unknown as JsonObject;
}
