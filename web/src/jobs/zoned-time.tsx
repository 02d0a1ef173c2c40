import { formatAgo, formatMoment } from '../times.ts';

const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const formats = new Map<string, Intl.DateTimeFormat>();

function formatIn(zone: string): Intl.DateTimeFormat | null {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  try {
    const format = new Intl.DateTimeFormat(undefined, {
      timeZone: zone,
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
      timeZoneName: 'short',
    });
    formats.set(zone, format);
    return format;
  } catch {
    // A zone unknown to this browser: only the local time is shown.
    return null;
  }
}

/** Whether the time in a zone differs from the local time. */
function differs(zone: string, atMs: number): boolean {
  return zone !== LOCAL_ZONE && formatIn(zone)?.format(atMs) !== formatIn(LOCAL_ZONE)?.format(atMs);
}

/** A time in the local zone and, if that differs, in another zone. */
export function ZonedTime({ atMs, zone, now }: { atMs: number; zone: string; now: number }) {
  return (
    <span className="zoned" title={formatMoment(atMs)}>
      <span>
        {formatIn(LOCAL_ZONE)?.format(atMs) ?? formatMoment(atMs)}
        <span className="quiet"> · {formatAgo(atMs, now)}</span>
      </span>
      {differs(zone, atMs) && (
        <span className="quiet zone-time">
          {formatIn(zone)?.format(atMs)} in {zone}
        </span>
      )}
    </span>
  );
}
