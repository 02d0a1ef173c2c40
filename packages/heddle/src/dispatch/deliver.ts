import type { Dispatcher } from 'undici';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Metrics } from '@heddle/core/metrics/metrics';
import type { Random } from '@heddle/base/random';
import type { Tracing } from '@heddle/base/trace';
import { attemptContext, workflowContext } from '@heddle/base/work-spans';
import { tellsOfWorkflow } from '@heddle/core/domain/notification/notification';
import type { Action, WebhookParams } from '@heddle/base/vocabulary/task';
import type { Delivery, DeliveryResult } from '@heddle/core/engine/port';
import { SecretRefusedError } from '@heddle/core/domain/secret';
import type { NamedSecrets } from '@heddle/core/engine/port';
import { errorOf } from '@heddle/base/thrown';
import { readCancelAction } from './cancel-action.ts';
import { mailTry } from './mail-try.ts';
import type { MailServer } from './mail.ts';
import { giveUpAtMs, retryAfterMs, scheduleOf } from './retry-schedule.ts';
import type { RetrySchedules } from './retry-schedule.ts';
import { sendRequest } from '@heddle/base/outbound/send';
import type { Answer, SendFailure } from '@heddle/base/outbound/send';
import { validateWebhookUrl } from '@heddle/base/outbound/ssrf';
import type { SsrfPolicy } from '@heddle/base/outbound/ssrf';
import { dead, excerpt, retryOrAbandon } from './try-result.ts';
import { buildWebhookRequest, wireTriggerOf } from './webhook-request.ts';
import { withSecretHeaders } from './webhook-secrets.ts';
import type { WebhookIdentity, WebhookRequest } from './webhook-request.ts';

export type WebhookMetrics = Pick<Metrics, 'webhookExecutions' | 'webhookAttempts' | 'webhookDurationSeconds'>;

export interface DeliverDependencies {
  /** From `createGuardedAgent`, which checks addresses when connecting. */
  agent: Dispatcher;
  policy: SsrfPolicy;
  identity: WebhookIdentity;
  /** Mail server for notifications; null if there is none. */
  mail?: MailServer | null | undefined;
  /** Secrets that headers name; null if there are none. */
  secrets?: Pick<NamedSecrets, 'use'> | null;
  schedules: RetrySchedules;
  /** Timeout of one try, milliseconds. */
  tryLimitMs: number;
  clock: Clock;
  random: Random;
  log: Logger;
  tracing: Tracing;
  metrics?: WebhookMetrics | undefined;
}

/** One try gets at least this much time, however close the deadline of the whole delivery is. */
const TRY_LIMIT_MIN_MS = 1000;

/**
 * Performs one try of a delivery: checks the target, sends, and returns the outcome. `delivery.tries` already includes
 * this try, and the result returns it, so that the settlement of an older try can be recognized.
 * @param stop aborts the try; it is then due again at once, and does not count against the target
 */
export async function deliverOnce(
  delivery: Delivery,
  dependencies: DeliverDependencies,
  stop?: AbortSignal,
): Promise<DeliveryResult> {
  const { clock, tracing, metrics } = dependencies;
  const trigger = wireTriggerOf(delivery.trigger);
  const startedAt = clock.monotonic();
  const attributes = {
    'heddle.task_id': delivery.task_id,
    'heddle.trigger': trigger,
    'server.address': delivery.origin,
  };
  const result = await tracing.span(
    `webhook ${trigger}`,
    { kind: 'client', parent: parentOf(tracing, delivery), attributes },
    (span) => attempt(delivery, dependencies, tracing.traceparentOf(span), stop),
  );
  const outcome = result.outcome === 'delivered' ? 'success' : 'failure';
  metrics?.webhookAttempts.inc({ trigger, outcome });
  metrics?.webhookDurationSeconds.observe({ trigger }, (clock.monotonic() - startedAt) / 1000);
  if (result.outcome !== 'retry') metrics?.webhookExecutions.inc({ trigger, outcome });
  return result;
}

/** The attempt or the workflow that it concerns. */
function parentOf(tracing: Tracing, delivery: Delivery): string | null {
  const { task_id, workflow_id, attempt: number, traceparent } = delivery;
  return tellsOfWorkflow(delivery)
    ? workflowContext(tracing, traceparent, workflow_id)
    : attemptContext(tracing, traceparent, task_id, number);
}

async function attempt(
  delivery: Delivery,
  dependencies: DeliverDependencies,
  traceparent: string | null,
  stop: AbortSignal | undefined,
): Promise<DeliveryResult> {
  const { clock, schedules } = dependencies;
  const leftMs = giveUpAtMs(delivery, scheduleOf(schedules, delivery.trigger), clock.now()) - clock.now();
  const limitMs = Math.min(dependencies.tryLimitMs, Math.max(TRY_LIMIT_MIN_MS, leftMs));
  const { action } = delivery;
  if ('mail' in action) return mailTry(delivery, action.mail, limitMs, dependencies, stop);
  return webhookTry(delivery, action.params, { ...dependencies, limitMs, traceparent, stop });
}

interface WebhookTry extends DeliverDependencies {
  limitMs: number;
  traceparent: string | null;
  stop: AbortSignal | undefined;
}

async function webhookTry(
  delivery: Delivery,
  params: WebhookParams,
  dependencies: WebhookTry,
): Promise<DeliveryResult> {
  const { clock, policy, identity, limitMs, traceparent, stop } = dependencies;
  const refusal = validateWebhookUrl(params.url, policy);
  if (refusal !== null) return dead(delivery, null, `the target is not allowed: ${refusal}`);
  const sendable = await withSecretHeaders(params, delivery, dependencies.secrets ?? null).catch(errorOf);
  if (sendable instanceof Error) {
    if (sendable instanceof SecretRefusedError) return dead(delivery, null, sendable.message);
    return retryOrAbandon(delivery, null, sendable.message, null, dependencies);
  }
  const webhook = buildWebhookRequest(delivery, sendable, identity, clock.now(), traceparent);
  const sent = await sendRequest(webhook, dependencies.agent, { limitMs, clock, stop });
  if ('failure' in sent) return settleFailure(delivery, sent, webhook, dependencies);
  return settleAnswer(delivery, sent, webhook, dependencies);
}

function settleFailure(
  delivery: Delivery,
  sent: SendFailure,
  webhook: WebhookRequest,
  dependencies: DeliverDependencies,
): DeliveryResult {
  const { id, tries } = delivery;
  const { origin } = webhook.url;
  switch (sent.failure) {
    case 'stopped':
      return { id, tries, outcome: 'retry', status: null, error: sent.error, delay_ms: 0 };
    case 'refused':
      return dead(delivery, null, `the target is not allowed: ${sent.error}`);
    case 'unsendable':
      return dead(delivery, null, sent.error);
    case 'timeout':
    case 'network':
      return retryOrAbandon(delivery, null, `${origin}: ${sent.error}`, null, dependencies);
  }
}

/** Status codes below 500 that ask for a retry: request timeout, too early, too many requests. */
const RETRYABLE_BELOW_500: ReadonlySet<number> = new Set([408, 425, 429]);

function settleAnswer(
  delivery: Delivery,
  answer: Answer,
  webhook: WebhookRequest,
  dependencies: DeliverDependencies,
): DeliveryResult {
  const { id, tries } = delivery;
  const { status } = answer;
  if (status >= 200 && status < 300) {
    const action = delivery.trigger === 'start' ? cancelActionOf(delivery, answer, dependencies) : null;
    return { id, tries, outcome: 'delivered', status, ...(action === null ? {} : { cancel_action: action }) };
  }
  const { origin } = webhook.url;
  if (status >= 300 && status < 400) {
    return dead(delivery, status, `${origin} answered ${status}; redirects are not followed, use the final URL`);
  }
  const error = `${origin} answered ${status}${excerpt(answer.text, webhook.secrets)}`;
  if (status < 500 && !RETRYABLE_BELOW_500.has(status)) return dead(delivery, status, error);
  const askedMs = retryAfterMs(answer.headers['retry-after'], dependencies.clock.now());
  return retryOrAbandon(delivery, status, error, askedMs, dependencies);
}

function cancelActionOf(delivery: Delivery, answer: Answer, { policy, log }: DeliverDependencies): Action | null {
  const about = { delivery_id: delivery.id, task_id: delivery.task_id, status: answer.status };
  if (answer.cut !== null) {
    log.warn({ ...about, cut: answer.cut }, 'response of a start webhook is incomplete; no cancel action registered');
    return null;
  }
  const read = readCancelAction(answer.text, (url) => validateWebhookUrl(url, policy));
  if (read.reading === 'invalid') {
    log.warn({ ...about, fault: read.fault }, 'ignored the cancel action in the response of a start webhook');
  }
  return read.reading === 'action' ? read.action : null;
}
