import { formatAgo, formatDuration, formatMoment, parseTime, useSharedNow } from '../times.ts';

type WireTime = string | number | null | undefined;

/** A time, relative to now; the absolute time on hover and for machines. */
export function Ago({ at, absent = '–' }: { at: WireTime; absent?: string }) {
  const now = useSharedNow();
  const ms = parseTime(at);
  if (ms === null) return <span className="quiet">{absent}</span>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={formatMoment(ms)}>
      {formatAgo(ms, now)}
    </time>
  );
}

/** How long something took, or takes so far. */
export function Took({ from, to, absent = '–' }: { from: WireTime; to: WireTime; absent?: string }) {
  const now = useSharedNow();
  const start = parseTime(from);
  if (start === null) return <span className="quiet">{absent}</span>;
  return <span title={`since ${formatMoment(start)}`}>{formatDuration((parseTime(to) ?? now) - start)}</span>;
}

/** A count; `capped` when there are more than that. */
export function Count({ n, capped = false }: { n: number; capped?: boolean | undefined }) {
  return (
    <span className="tabular">
      {n.toLocaleString()}
      {capped && '+'}
    </span>
  );
}
