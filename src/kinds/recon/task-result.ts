import type { JsonObject, JsonValue } from '../../domain/json.ts';

/** A target that was not looked at, and why. */
export interface LeftOut {
  target: string;
  reason: string;
}

/** What a task of one of the scanning kinds leaves behind. */
export interface ScanResult {
  outcome: 'complete' | 'incomplete';
  /** All of them where there are no chunks, else the first. */
  records: readonly JsonObject[];
  record_count: number;
  /** Of this attempt, with all records. */
  chunks: number;
  attempt: number;
  /** Records that nobody kept, because the worker has no database. */
  records_lost: number;
  /** Ports, names or endpoints that were settled. */
  settled: number;
  /** Packets, queries or connections. */
  sent: number;
  /** By state or status. */
  counts: Record<string, number>;
  /** What was not looked at; only the first ones by name. */
  left_out_count: number;
  left_out: readonly LeftOut[];
  /** Names that have no address: there is nothing to look at. */
  unresolved: number;
  notices: readonly string[];
  duration_ms: number;
}

/**
 * What such a task left behind, whoever ran it.
 *
 * @throws Error where it is no such result
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
  if (!isResult) throw new Error(`the result of the task ${taskId} is not one of a scan`);
  const { settled, sent, unresolved, left_out_count, left_out, counts } = result;
  return {
    ...(result as ScanResult),
    settled: numberOf(settled),
    sent: numberOf(sent),
    unresolved: numberOf(unresolved),
    left_out_count: numberOf(left_out_count),
    left_out: Array.isArray(left_out) ? left_out : [],
    counts: Object.fromEntries(Object.entries(counts ?? {}).map(([name, count]) => [name, numberOf(count)])),
  };
}

/** Anybody may have run it. */
function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** As the engine stores it. */
export function asJson(result: ScanResult): JsonObject {
  return result as unknown as JsonObject;
}

const TEXT_CHARACTERS_MAX = 16_384;

/** What came from a network, as a database can take it: no NUL, no half of a surrogate pair, no endless text. */
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
