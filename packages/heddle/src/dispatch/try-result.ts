import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import { redactText } from '@heddle/base/redact';
import { Redactor } from '@heddle/base/redactor';
import type { Delivery, DeliveryResult } from '@heddle/core/engine/port';
import { nextTryDelayMs, scheduleOf, type RetrySchedules } from './retry-schedule.ts';

export interface RetryDependencies {
  schedules: RetrySchedules;
  clock: Clock;
  random: Random;
}

const EXCERPT_CHARACTERS = 200;

/** The result of a try that can be retried, if the delivery's schedule has one left. */
export function retryOrAbandon(
  delivery: Delivery,
  status: number | null,
  error: string,
  askedMs: number | null,
  { clock, random, schedules }: RetryDependencies,
): DeliveryResult {
  const schedule = scheduleOf(schedules, delivery.trigger);
  const delayMs = nextTryDelayMs(delivery, schedule, clock.now(), askedMs, () => random.next());
  if (delayMs === null) return dead(delivery, status, error);
  return { id: delivery.id, tries: delivery.tries, outcome: 'retry', status, error, delay_ms: delayMs };
}

/** The result of a delivery that no further try can help. */
export function dead(delivery: Delivery, status: number | null, error: string): DeliveryResult {
  return { id: delivery.id, tries: delivery.tries, outcome: 'dead', status, error };
}

/** The start of a text response, on one line, without the secrets of the request. */
export function excerpt(text: string, secrets: readonly string[]): string {
  const shown = redactText(new Redactor(secrets.flatMap(spellings), '[redacted]').text(text))
    .replace(/[\s\x00-\x1f\x7f]+/g, ' ')
    .trim();
  if (shown === '') return '';
  const cut = shown.length > EXCERPT_CHARACTERS ? `${shown.slice(0, EXCERPT_CHARACTERS)}…` : shown;
  return `: ${cut.toWellFormed()}`;
}

/** A target may echo a whole header (`Bearer abc…`) or only its token; words too short to be secrets stay readable. */
function spellings(secret: string): string[] {
  const words = secret.split(/[\s,;]+/).filter((word) => word.length >= 8);
  return secret.length >= 4 ? [secret, ...words] : words;
}
