import type { ReportedFinding } from '@heddle/core/domain/finding';
import { CONFIDENCES } from '@heddle/base/vocabulary/confidence';
import { VERDICTS, type Verification } from '@heddle/base/vocabulary/verdict';
import type { JsonObject } from '@heddle/base/json';
import { emptyMetrics } from '@heddle/scan/graph/metrics';
import type { Problem, TaskMetrics } from '@heddle/scan/result';

/** The result of an `ObjectScan` task. */
export interface ScanTaskResult {
  outcome: 'complete' | 'incomplete';
  /** Without secrets; those that exceed a result are in chunks before these. */
  findings: readonly ReportedFinding[];
  /** Chunks of this attempt. */
  chunks: number;
  attempt: number;
  finding_count: number;
  /** Findings that were not stored because the worker has no database. */
  findings_lost: number;
  objects: number;
  bytes: number;
  problem_count: number;
  /** The first problems. */
  problems: readonly Problem[];
  duration_ms: number;
  /** Counters of the scan's steps in all threads. */
  metrics: TaskMetrics;
}

const FINGERPRINT = /^[0-9a-f]{32}$/;
/** More than any scan delivers, and less than the database accepts. */
const CONTEXT_BYTES_MAX = 15 * 1024;
const CONTEXT_LINES_MAX = 100;
const VERIFICATION_BYTES_MAX = 15 * 1024;
const PERMISSIONS_MAX = 100;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Validates the result of such a task, from any worker.
 *
 * @throws Error if it is not such a result
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
  if (!isResult) throw new Error(`the result of the task ${taskId} is not an ObjectScan result`);
  for (const finding of result.findings!) requireFinding(taskId, finding);
  return { ...(result as ScanTaskResult), metrics: readMetrics(taskId, result.metrics) };
}

/** Workers of an older version report none; counters of a newer one are ignored. */
function readMetrics(taskId: string, data: Partial<TaskMetrics> | undefined): TaskMetrics {
  const metrics = emptyMetrics();
  for (const name of Object.keys(metrics) as (keyof TaskMetrics)[]) {
    const value = data?.[name] ?? 0;
    if (!Number.isSafeInteger(value) || value < 0)
      throw new Error(`the result of the task ${taskId}: metrics.${name} must be an integer from 0`);
    metrics[name] = value;
  }
  return metrics;
}

function requireFinding(taskId: string, finding: Partial<ReportedFinding> | null): void {
  const { fingerprint, rule_id, path, redacted, description, occurrences, context, secret_id } = finding ?? {};
  const { confidence = 'medium', confidence_reason, key_path, key_name, verification } = finding ?? {};
  const texts = [rule_id, path, redacted, description];
  const isFinding =
    FINGERPRINT.test(fingerprint ?? '') && texts.every((text) => typeof text === 'string') && occurrences! > 0;
  if (!isFinding) throw new Error(`a finding of the task ${taskId} has no fingerprint, rule, path or count`);
  const judged = [confidence_reason ?? '', key_path ?? '', key_name ?? ''];
  if (!CONFIDENCES.includes(confidence) || !judged.every((text) => typeof text === 'string'))
    throw new Error(`a finding of the task ${taskId} has a confidence or a key of another form`);
  // Workers of an older version report neither.
  if ((secret_id ?? null) !== null && !FINGERPRINT.test(secret_id!))
    throw new Error(`a finding of the task ${taskId} has a secret_id that is not 32 hexadecimal digits`);
  if ((verification ?? null) !== null && !isVerification(verification!))
    throw new Error(`a finding of the task ${taskId} has a verification without verdict, reason, time or permissions`);
  if (context !== undefined && !isContext(context))
    throw new Error(`a finding of the task ${taskId} has a context that is not a list of lines with numbers`);
}

function isVerification(verification: Partial<Verification>): boolean {
  const { verdict, reason, checked_at, identity, permissions } = verification;
  return (
    VERDICTS.some((each) => each === verdict) &&
    typeof reason === 'string' &&
    TIME.test(checked_at ?? '') &&
    (identity === null || typeof identity === 'string') &&
    Array.isArray(permissions) &&
    permissions.length <= PERMISSIONS_MAX &&
    permissions.every((each) => typeof each === 'string') &&
    Buffer.byteLength(JSON.stringify(verification)) <= VERIFICATION_BYTES_MAX
  );
}

function isContext(context: unknown): boolean {
  const isLine = (line: Partial<ReportedFinding['context'][number]> | null): boolean => {
    const { number, text, mark } = line ?? {};
    const { start, end } = mark ?? { start: 0, end: 0 };
    return [number, start, end].every(Number.isSafeInteger) && typeof text === 'string';
  };
  return (
    Array.isArray(context) &&
    context.length <= CONTEXT_LINES_MAX &&
    Buffer.byteLength(JSON.stringify(context)) <= CONTEXT_BYTES_MAX &&
    (context as Parameters<typeof isLine>[0][]).every(isLine)
  );
}

/** Converts the result to its stored form. */
export function asJson(result: ScanTaskResult): JsonObject {
  return result as unknown as JsonObject;
}
