import { COUNTED_STATES } from '../api/pool.ts';
import type { Sample } from '@heddle/client';
import type { Counts } from '../api/pool.ts';
import { parseTime } from '../times.ts';

const MINUTE_MS = 60_000;

export interface Point extends Counts {
  at: number;
}

const NONE: Counts = { created: 0, idle: 0, claimed: 0, running: 0, waiting: 0 };

export function sumOf(all: readonly Counts[]): Counts {
  const sum = { ...NONE };
  for (const counts of all) {
    for (const state of COUNTED_STATES) sum[state] += counts[state];
    sum.waiting += counts.waiting;
  }
  return sum;
}

/**
 * Returns one point per minute from `fromMs` to `toMs`, for one class, or for all if it is empty. A minute without a
 * sample had no runners and no requests.
 */
export function pointsOf(samples: readonly Sample[], resourceClass: string, fromMs: number, toMs: number): Point[] {
  const byMinute = Map.groupBy(
    samples.filter(({ resource_class }) => resourceClass === '' || resource_class === resourceClass),
    ({ at }) => Math.floor((parseTime(at) ?? 0) / MINUTE_MS),
  );
  const points: Point[] = [];
  for (let minute = Math.ceil(fromMs / MINUTE_MS); minute * MINUTE_MS <= toMs; minute += 1) {
    points.push({ at: minute * MINUTE_MS, ...sumOf(byMinute.get(minute) ?? []) });
  }
  return points;
}

export function totalOf(counts: Counts): number {
  return COUNTED_STATES.reduce((sum, state) => sum + counts[state], 0);
}
