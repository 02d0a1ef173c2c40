import type { CalendarEntry } from '@heddle/client';

export type Span = 'day' | 'week';

/** Entries of one job that are shown as one line; more of them are folded. */
export interface CalendarLine {
  key: string;
  job: string;
  entries: readonly CalendarEntry[];
}

/** A column of the week, or an hour of the day. */
export interface CalendarBox {
  startMs: number;
  lines: readonly CalendarLine[];
}

/** Entries of one job in a box that are shown one by one. */
const SINGLE_MAX = 3;
const WEEK_DAYS = 7;
const DAY_HOURS = 24;

/** The local day of a text such as `2026-01-31`; today if it is none. */
export function dayOf(text: string, now: number): Date {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  const date = year === undefined ? new Date(now) : new Date(Number(year), Number(month) - 1, Number(day));
  return new Date(date.getFullYear(), date.getMonth(), date.getDate());
}

export function textOfDay(date: Date): string {
  const pad = (value: number): string => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

/** The local midnight some days later: days have 23 or 25 hours where clocks change. */
export function daysLater(date: Date, days: number): Date {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days);
}

/** The first day that is shown: of a week, its Monday. */
export function startOf(span: Span, day: Date): Date {
  return span === 'day' ? day : daysLater(day, -((day.getDay() + 6) % 7));
}

/** The first day after what is shown. */
export function endOf(span: Span, start: Date): Date {
  return daysLater(start, span === 'day' ? 1 : WEEK_DAYS);
}

/** Divides entries, oldest first, into the days of a week or the hours of a day. */
export function boxesOf(span: Span, start: Date, entries: readonly CalendarEntry[]): CalendarBox[] {
  const starts = span === 'week' ? daysFrom(start) : hoursFrom(start);
  const end = endOf(span, start).getTime();
  return starts.map((startMs, i) => {
    const until = starts[i + 1] ?? end;
    const inside = entries.filter(({ at }) => Date.parse(at) >= startMs && Date.parse(at) < until);
    return { startMs, lines: linesOf(inside) };
  });
}

function daysFrom(start: Date): number[] {
  return Array.from({ length: WEEK_DAYS }, (_, i) => daysLater(start, i).getTime());
}

function hoursFrom(start: Date): number[] {
  return Array.from({ length: DAY_HOURS }, (_, hour) =>
    new Date(start.getFullYear(), start.getMonth(), start.getDate(), hour).getTime(),
  );
}

function linesOf(entries: readonly CalendarEntry[]): CalendarLine[] {
  const byJob = Map.groupBy(entries, ({ job_name }) => job_name);
  return [...byJob]
    .flatMap(([job, ofJob]) =>
      ofJob.length > SINGLE_MAX
        ? [{ key: job, job, entries: ofJob }]
        : ofJob.map((entry, i) => ({ key: `${job} ${i}`, job, entries: [entry] })),
    )
    .sort((one, other) => one.entries[0]!.at.localeCompare(other.entries[0]!.at));
}
