import type { JsonObject, JsonValue } from '@heddle/base/json';

/** A target that was not scanned, and why. */
export interface SkippedTarget {
  target: string;
  reason: string;
}

/** The result of a task of a scanning kind. */
export interface ScanResult {
  outcome: 'complete' | 'incomplete';
  /** All of them if there are no chunks, else the first. */
  records: readonly JsonObject[];
  record_count: number;
  /** Chunks of this attempt, with all records. */
  chunks: number;
  attempt: number;
  /** Records that were not stored because the worker has no database. */
  records_lost: number;
  /** Ports, names or endpoints that were settled. */
  settled: number;
  /** Packets, queries or connections. */
  sent: number;
  /** By state or status. */
  counts: Record<string, number>;
  /** Targets that were not scanned; only the first ones listed. */
  skipped_count: number;
  skipped: readonly SkippedTarget[];
  /** Names without an address, which have nothing to scan. */
  unresolved: number;
  notices: readonly string[];
  duration_ms: number;
}

/**
 * Validates the result of such a task, from any worker.
 *
 * @throws Error if it is not such a result
 */
export function readScanResult(taskId: string, data: unknown): ScanResult {
  const result = data as Partial<ScanResult> | null;
  const isResult =
    typeof result === 'object' &&
    result !== null &&
    (result.outcome === 'complete' || result.outcome === 'incomplete') &&
    Array.isArray(result.records) &&
    Number.isSafeInteger(result.chunks) &&
    Number.isSafeInteger(result.attempt);
  if (!isResult) throw new Error(`the result of the task ${taskId} is not a scan result`);
  const { settled, sent, unresolved, skipped_count, skipped, counts } = result;
  return {
    ...(result as ScanResult),
    settled: numberOf(settled),
    sent: numberOf(sent),
    unresolved: numberOf(unresolved),
    skipped_count: numberOf(skipped_count),
    skipped: Array.isArray(skipped) ? skipped : [],
    counts: Object.fromEntries(Object.entries(counts ?? {}).map(([name, count]) => [name, numberOf(count)])),
  };
}

/** The value is untrusted. */
function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** Converts the result to its stored form. */
export function asJson(result: ScanResult): JsonObject {
  return result as unknown as JsonObject;
}

const TEXT_CHARACTERS_MAX = 16_384;

/** Makes untrusted network data storable: no NUL, no unpaired surrogate, bounded strings. */
export function storable(value: JsonValue): JsonValue {
  if (typeof value === 'string') return storableText(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(storable);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [storableText(name), storable(each)]));
}

export function storableText(text: string): string {
  const cut = text.length > TEXT_CHARACTERS_MAX ? `${text.slice(0, TEXT_CHARACTERS_MAX - 1)}…` : text;
  return cut.replaceAll('\u0000', '\ufffd').toWellFormed();
}
