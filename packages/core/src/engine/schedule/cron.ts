import { Cron } from 'croner';

import { HeddleError } from '@heddle/base/errors';
import { CATCH_UP_MAX, type DueOccurrences } from '../../domain/schedule.ts';

const CRON_CHARS_MAX = 200;
const TIME_ZONE_CHARS_MAX = 100;
/** Number of due occurrences counted one by one; beyond it, only the latest are checked. */
const WALK_MAX = 1000;

/** Cron expression in a time zone, as pure arithmetic without a clock. Times are milliseconds since the epoch. */
export interface Schedule {
  /** Returns the first occurrence after this time; null if none follows. */
  next(after: number): number | null;
  /** Returns at most `count` occurrences after this time. */
  upcoming(after: number, count: number): number[];
  /** Returns the occurrences from `first`, which is one itself, up to `now`. */
  due(first: number, now: number): DueOccurrences;
}

/**
 * Parses an expression of 5 fields (minute hour day month weekday), of 6 (with seconds first) or a nickname (`@hourly`,
 * `@daily`, `@weekly`, `@monthly`, `@yearly`), and an IANA time zone.
 *
 * At clock changes: an expression whose hour, minute and second are plain values, lists or ranges names times of day. A
 * time that does not exist occurs at the first instant after the gap; one that exists twice occurs the first time only.
 * Any other expression (with a `*` or a step in one of them) names intervals: those in a gap are skipped, those in a
 * repeated hour occur twice.
 *
 * @throws HeddleError VALIDATION_FAILED, one detail per fault (`cron: …`, `time_zone: …`)
 */
export function parseSchedule(cron: string, timeZone: string): Schedule {
  const details = scheduleFaults(cron, timeZone);
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details });
  return new CronSchedule(read(cron, timeZone));
}

/** Returns the faults of an expression and a time zone, each with its member's name. */
export function scheduleFaults(cron: string, timeZone: string): string[] {
  return [timeZoneFault(timeZone), cronFault(cron)].filter((fault) => fault !== null);
}

function read(cron: string, timezone: string): Cron {
  return new Cron(cron.trim(), { timezone, mode: '5-or-6-parts', fixedTimeRule: 'no-wildcard' });
}

function timeZoneFault(timeZone: string): string | null {
  // A fixed offset is not a time zone: the intended zone changes its offset twice a year.
  if (timeZone.length <= TIME_ZONE_CHARS_MAX && /^[A-Za-z]/.test(timeZone)) {
    try {
      new Intl.DateTimeFormat('en', { timeZone });
      return null;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return `time_zone: must be the IANA name of a time zone, such as Europe/Berlin, not ${JSON.stringify(timeZone.slice(0, 40))}`;
}

function cronFault(cron: string): string | null {
  if (cron.length > CRON_CHARS_MAX) return `cron: must have at most ${CRON_CHARS_MAX} characters`;
  try {
    // The library also accepts a date, which would be a schedule of a single occurrence.
    if (read(cron, 'UTC').getPattern() !== undefined) return null;
  } catch (error) {
    const reason = (error as Error).message.replace(/^Cron\w*: /, '');
    // The library's own message about the number of fields describes its own syntax.
    if (!/^(?:invalid configuration format|mode)/.test(reason)) return `cron: ${reason}`;
  }
  return `cron: must have five fields (minute, hour, day of month, month, weekday), six with seconds first, or be a nickname such as @daily; not ${JSON.stringify(cron.slice(0, 40))}`;
}

class CronSchedule implements Schedule {
  readonly #cron: Cron;

  constructor(cron: Cron) {
    this.#cron = cron;
  }

  next(after: number): number | null {
    return this.#cron.nextRun(new Date(after))?.getTime() ?? null;
  }

  upcoming(after: number, count: number): number[] {
    const times: number[] = [];
    for (let next = this.next(after); next !== null && times.length < count; next = this.next(next)) times.push(next);
    return times;
  }

  due(first: number, now: number): DueOccurrences {
    const times = [first];
    for (let next = this.next(first); next !== null && next <= now; next = this.next(next)) {
      if (times.length === WALK_MAX) return { first, times: this.#latest(now), count: null };
      times.push(next);
    }
    return { first, times, count: times.length };
  }

  /** Returns the last occurrences up to `now`, found backwards and returned in ascending order. */
  #latest(now: number): number[] {
    const start = this.#cron.previousRuns(CATCH_UP_MAX, new Date(now)).at(-1)!.getTime();
    const times = [start];
    for (let next = this.next(start); next !== null && next <= now; next = this.next(next)) times.push(next);
    return times;
  }
}
