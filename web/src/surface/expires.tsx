import { parseTime, formatMoment, useSharedNow } from '../times.ts';
import { expiryOf } from './expiry.ts';

/** An absolute time, as people read it. */
export function Moment({ at }: { at: string | null }) {
  const ms = parseTime(at);
  return ms === null ? at : formatMoment(ms);
}

/** When a certificate expires, in words. */
export function Expires({ at }: { at: string | null }) {
  const now = useSharedNow();
  const ms = parseTime(at);
  if (ms === null) return <span className="quiet">–</span>;
  const { words, urgency } = expiryOf(ms, now);
  return (
    <time className="expiry" data-urgency={urgency} dateTime={new Date(ms).toISOString()} title={formatMoment(ms)}>
      {words}
    </time>
  );
}
