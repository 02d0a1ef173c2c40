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
 * Returns one point per minute from `fromMs` to `toMs`, for one class or all classes. A minute without a sample had no
 * runners and no requests.
 */
export function pointsOf(
  samples: readonly Sample[],
  resourceClass: string | null,
  fromMs: number,
  toMs: number,
): Point[] {
  const byMinute = new Map<number, Sample[]>();
  for (const sample of samples) {
    const at = parseTime(sample.at);
    if (at === null || (resourceClass !== null && sample.resource_class !== resourceClass)) continue;
    const minute = Math.floor(at / MINUTE_MS);
    const inMinute = byMinute.get(minute);
    if (inMinute === undefined) byMinute.set(minute, [sample]);
    else inMinute.push(sample);
  }
  const points: Point[] = [];
  for (let minute = Math.ceil(fromMs / MINUTE_MS); minute * MINUTE_MS <= toMs; minute += 1) {
    points.push({ at: minute * MINUTE_MS, ...sumOf(byMinute.get(minute) ?? []) });
  }
  return points;
}

/** Returns the smallest round number that no point exceeds, as the top of the scale. */
export function topOf(points: readonly Point[]): number {
  const most = Math.max(1, ...points.map((point) => Math.max(totalOf(point), point.waiting)));
  const magnitude = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * magnitude).find((top) => top >= most)!;
}

export function totalOf(counts: Counts): number {
  return COUNTED_STATES.reduce((sum, state) => sum + counts[state], 0);
}
