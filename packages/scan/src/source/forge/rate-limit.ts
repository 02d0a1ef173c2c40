import type { Answer } from '@heddle/base/outbound/send';

const WAIT_MIN_MS = 1000;
/** If an answer does not say how long. */
const WAIT_MS = 60_000;
const MESSAGE_CHARACTERS = 1000;

type LimitedAnswer = Pick<Answer, 'status' | 'headers' | 'text'>;

/**
 * Returns how long an answer asks to wait before the request is repeated, milliseconds; null if it is no rate limit.
 * GitHub answers with 403 or 429, GitLab with 429.
 */
export function rateLimitWaitMs({ status, headers, text }: LimitedAnswer, now: number): number | null {
  const value = (name: string): string => String(headers[name] ?? '');
  const retryAfter = value('retry-after');
  const isExhausted = value('x-ratelimit-remaining') === '0';
  // GitHub reports too many concurrent requests in words, without a time to retry at.
  if (status === 403 && retryAfter === '' && !isExhausted)
    return /\brate limit\b/i.test(text.slice(0, MESSAGE_CHARACTERS)) ? WAIT_MS : null;
  if (status !== 429 && status !== 403) return null;
  if (/^\d+$/.test(retryAfter)) return Math.max(WAIT_MIN_MS, Number(retryAfter) * 1000);
  const date = Date.parse(retryAfter);
  if (!Number.isNaN(date)) return Math.max(WAIT_MIN_MS, date - now);
  const reset = value('x-ratelimit-reset') || value('ratelimit-reset');
  if (!/^\d+$/.test(reset)) return WAIT_MS;
  // By the server's clock, which may differ from this machine's.
  const served = Date.parse(value('date'));
  return Math.max(WAIT_MIN_MS, (Number(reset) + 1) * 1000 - (Number.isNaN(served) ? now : served));
}
