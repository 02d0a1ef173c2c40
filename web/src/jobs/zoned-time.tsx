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
    // A zone that this browser does not know: the time of here is shown alone.
    return null;
  }
}

/** Whether a zone shows other clocks than those here, at this moment. */
function differs(zone: string, atMs: number): boolean {
  return zone !== LOCAL_ZONE && formatIn(zone)?.format(atMs) !== formatIn(LOCAL_ZONE)?.format(atMs);
}

/** A moment in the time of here and, where that differs, in the time of a zone. */
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
