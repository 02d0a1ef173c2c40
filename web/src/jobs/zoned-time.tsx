import { formatAgo, formatMoment, parseTime, useSharedNow } from '../times.ts';

const formats = new Map<string, Intl.DateTimeFormat | null>();

function formatIn(zone: string): Intl.DateTimeFormat | null {
  if (!formats.has(zone)) formats.set(zone, newFormat(zone));
  return formats.get(zone)!;
}

function newFormat(timeZone: string): Intl.DateTimeFormat | null {
  const date = { weekday: 'short', day: 'numeric', month: 'short' } as const;
  try {
    return new Intl.DateTimeFormat(undefined, { timeZone, ...date, hour: '2-digit', minute: '2-digit' });
  } catch {
    // A zone that this browser does not know.
    return null;
  }
}

/** A time relative to now, and absolute in a time zone; the local time on hover. */
export function ZonedTime({ at, zone }: { at: string; zone: string }) {
  const now = useSharedNow();
  const ms = parseTime(at);
  if (ms === null) return <>{at}</>;
  const absolute = formatIn(zone)?.format(ms);
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
