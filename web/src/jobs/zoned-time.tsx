import { formatAgo, formatMoment, parseTime, useSharedNow } from '../times.ts';

const DAY_MS = 86_400_000;
const TIME = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
/** Formats of the day: nothing within 24 hours, the weekday within six days, else the date. */
const NEAR = {};
const THIS_WEEK = { weekday: 'short' } as const;
const LATER = { day: 'numeric', month: 'short' } as const;

const formats = new Map<string, Intl.DateTimeFormat | null>();

function formatIn(timeZone: string, day: typeof NEAR): Intl.DateTimeFormat | null {
  const key = `${timeZone} ${Object.keys(day).join()}`;
  if (!formats.has(key)) formats.set(key, newFormat({ timeZone, ...day, ...TIME }));
  return formats.get(key)!;
}

function newFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat(undefined, options);
  } catch {
    // A zone that this browser does not know.
    return null;
  }
}

function dayAt(atMs: number, nowMs: number): typeof NEAR {
  const distance = Math.abs(atMs - nowMs);
  return distance < DAY_MS ? NEAR : distance < 6 * DAY_MS ? THIS_WEEK : LATER;
}

/** A time relative to now, and absolute in a time zone; the local time on hover. */
export function ZonedTime({ at, zone }: { at: string; zone: string }) {
  const now = useSharedNow();
  const ms = parseTime(at);
  if (ms === null) return <>{at}</>;
  const absolute = formatIn(zone, dayAt(ms, now))?.format(ms);
  return (
    <time className="zoned" dateTime={at} title={`${formatMoment(ms)} here`}>
      {formatAgo(ms, now)}{' '}
      {absolute !== undefined && (
        <span className="quiet">
          {absolute} {zone}
        </span>
      )}
    </time>
  );
}
