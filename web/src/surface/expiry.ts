const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Certificates that expire within this time need attention. */
const SOON_MS = 14 * DAY_MS;

export interface Expiry {
  /** `expired 3 days ago`, `expires in 2 months`. */
  words: string;
  urgency: 'past' | 'soon' | 'fine';
}

/** Returns when a certificate expires or expired, in words. */
export function expiryOf(notAfterMs: number, nowMs: number): Expiry {
  const left = notAfterMs - nowMs;
  if (left < 0) return { words: `expired ${lengthOf(-left)} ago`, urgency: 'past' };
  return { words: `expires in ${lengthOf(left)}`, urgency: left <= SOON_MS ? 'soon' : 'fine' };
}

/** Formats a duration in the largest fitting unit, rounded down. */
function lengthOf(ms: number): string {
  const days = Math.floor(ms / DAY_MS);
  if (days >= 2 * 365) return count(Math.floor(days / 365), 'year');
  if (days >= 2 * 30) return count(Math.floor(days / 30), 'month');
  if (days >= 1) return count(days, 'day');
  const hours = Math.floor(ms / HOUR_MS);
  return hours >= 1 ? count(hours, 'hour') : 'less than an hour';
}

function count(value: number, unit: string): string {
  return `${value.toLocaleString()} ${value === 1 ? unit : `${unit}s`}`;
}
