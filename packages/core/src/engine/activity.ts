import { isTerminal, taskStateOf } from '@heddle/base/vocabulary/task-state';
import type { Clock } from '@heddle/base/clock';
import { bucketOfWait, WAIT_BUCKETS } from '../domain/wait-histogram.ts';
import type { Queryable } from '../store/database.ts';
import { addActivity, type MinuteOfActivity } from '../store/overview/activity.ts';
import type { TransitionCount, Waits } from '../store/transitions.ts';

const MINUTE_MS = 60_000;
/** Minutes kept while the database does not accept them; older ones are dropped. */
const MINUTES_MAX = 10;

/** Counts by the minute what this process starts and ends, until `flush` adds it to the database. */
export class Activity {
  readonly #clock: Pick<Clock, 'now'>;
  #minutes = new Map<number, MinuteOfActivity>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  started(waits: readonly Waits[]): void {
    if (waits.length === 0) return;
    const minute = this.#minute();
    for (const { waits_ms } of waits) {
      minute.started += waits_ms.length;
      for (const wait of waits_ms) minute.waits[bucketOfWait(wait)]! += 1;
    }
  }

  ended(transitions: readonly TransitionCount[], failedByDependency: number): void {
    if (failedByDependency > 0) this.#minute().failed += failedByDependency;
    for (const transition of transitions) {
      const to = taskStateOf(transition.to);
      if (!isTerminal(to) || to === 'disabled') continue;
      const outcome = to === 'succeeded' || to === 'canceled' ? to : 'failed';
      this.#minute()[outcome] += countOf(transition);
    }
  }

  /** Adds everything counted so far to the database; keeps it if that fails. */
  async flush(database: Queryable): Promise<void> {
    if (this.#minutes.size === 0) return;
    const taken = this.#minutes;
    this.#minutes = new Map();
    try {
      await addActivity(database, [...taken.values()]);
    } catch (error) {
      for (const minute of taken.values()) this.#putBack(minute);
      throw error;
    }
  }

  #minute(): MinuteOfActivity {
    const minute = Math.floor(this.#clock.now() / MINUTE_MS) * MINUTE_MS;
    let counts = this.#minutes.get(minute);
    if (counts === undefined) {
      counts = {
        minute,
        started: 0,
        succeeded: 0,
        failed: 0,
        canceled: 0,
        waits: new Array<number>(WAIT_BUCKETS).fill(0),
      };
      this.#minutes.set(minute, counts);
      this.#bound();
    }
    return counts;
  }

  #putBack(taken: MinuteOfActivity): void {
    const counts = this.#minutes.get(taken.minute);
    if (counts === undefined) {
      this.#minutes.set(taken.minute, taken);
      this.#bound();
      return;
    }
    for (const name of ['started', 'succeeded', 'failed', 'canceled'] as const) counts[name] += taken[name];
    for (const [bucket, count] of taken.waits.entries()) counts.waits[bucket]! += count;
  }

  #bound(): void {
    if (this.#minutes.size > MINUTES_MAX) this.#minutes.delete(Math.min(...this.#minutes.keys()));
  }
}

/** Number of tasks of a transition. */
export function countOf({ count, durations_ms }: TransitionCount): number {
  return count ?? Math.max(durations_ms?.length ?? 0, 1);
}
