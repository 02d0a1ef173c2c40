import { backoffMs } from '@heddle/base/backoff';
import type { BackoffPolicy } from '@heddle/base/backoff';
import type { Delivery, DeliveryTrigger } from '@heddle/core/engine/port';

/** How long a delivery is tried. `max_tries` and `abandon_after_secs` of an action take precedence. */
export interface RetrySchedule {
  backoff: BackoffPolicy;
  /** Maximum tries, including the first. */
  max_tries: number;
  /** Seconds after the first try when the delivery is abandoned. */
  abandon_after_secs: number;
  /** Maximum wait that a target may request with `Retry-After`, milliseconds. */
  retry_after_max_ms: number;
}

export interface RetrySchedules {
  /** A task waits for its start, so a start is abandoned soon. */
  start: RetrySchedule;
  /** Nothing waits for an end, a cancellation or a notification; the target may be down for hours. */
  end: RetrySchedule;
}

const MINUTE_MS = 60_000;

export const DEFAULT_RETRY_SCHEDULES: RetrySchedules = {
  start: {
    backoff: { base_ms: 1000, factor: 2, max_ms: MINUTE_MS / 2, jitter: 0.5 },
    max_tries: 12,
    abandon_after_secs: 120,
    retry_after_max_ms: MINUTE_MS,
  },
  end: {
    backoff: { base_ms: 1000, factor: 2, max_ms: 180 * MINUTE_MS, jitter: 0.5 },
    max_tries: 20,
    abandon_after_secs: 24 * 3600,
    retry_after_max_ms: 60 * MINUTE_MS,
  },
};

export function scheduleOf(schedules: RetrySchedules, trigger: DeliveryTrigger): RetrySchedule {
  return trigger === 'start' ? schedules.start : schedules.end;
}

export function giveUpAtMs(delivery: Delivery, schedule: RetrySchedule, nowMs: number): number {
  return (delivery.first_try_at ?? nowMs) + (delivery.action.abandon_after_secs ?? schedule.abandon_after_secs) * 1000;
}

/**
 * Returns the milliseconds to wait after a failed try; null if there is to be no further one.
 * @param nowMs milliseconds since the epoch
 * @param askedMs the wait that the target requested; it lengthens the wait up to a limit and never shortens it
 */
export function nextTryDelayMs(
  delivery: Delivery,
  schedule: RetrySchedule,
  nowMs: number,
  askedMs: number | null,
  random: () => number,
): number | null {
  if (delivery.tries >= (delivery.action.max_tries ?? schedule.max_tries)) return null;
  const ownMs = backoffMs(schedule.backoff, Math.max(1, delivery.tries), random);
  const delayMs = Math.max(ownMs, Math.min(askedMs ?? 0, schedule.retry_after_max_ms));
  return nowMs + delayMs < giveUpAtMs(delivery, schedule, nowMs) ? delayMs : null;
}

/** Returns the milliseconds that a `Retry-After` header requests (seconds, or an HTTP date); null if it is unusable. */
export function retryAfterMs(header: string | readonly string[] | undefined, nowMs: number): number | null {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim();
  if (text === undefined || text === '') return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
