import type { TaskMetrics } from '../result.ts';

export function emptyMetrics(): TaskMetrics {
  return {
    enumerate_count: 0,
    objects_discovered: 0,
    enumerate_backpressure: 0,
    fetch_sync_count: 0,
    bytes_fetched: 0,
    scan_count: 0,
    bytes_scanned: 0,
    objects_completed: 0,
  };
}

/** The counters in the order of `packMetrics`. */
const FIELDS = Object.keys(emptyMetrics()) as (keyof TaskMetrics)[];

/** Number of values that `packMetrics` writes. */
export const METRIC_COUNT = FIELDS.length;

/** Adds `from` to `into`. */
export function mergeMetrics(into: TaskMetrics, from: TaskMetrics): void {
  for (const field of FIELDS) into[field] += from[field];
}

/** Writes the counters into `target` from `start`, in a fixed order; `addPackedMetrics` reads them. */
export function packMetrics(metrics: TaskMetrics, target: Float64Array | number[], start: number): void {
  for (let i = 0; i < FIELDS.length; i++) target[start + i] = metrics[FIELDS[i]!];
}

/** Adds values written by `packMetrics` to `into`. */
export function addPackedMetrics(into: TaskMetrics, packed: Float64Array, start: number): void {
  for (let i = 0; i < FIELDS.length; i++) into[FIELDS[i]!] += packed[start + i]!;
}
