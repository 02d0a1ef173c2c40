import { tellsOfWorkflow, type MailMessage } from '@heddle/core/domain/notification/notification';
import type { Delivery, DeliveryResult } from '@heddle/core/engine/port';
import type { MailServer } from './mail.ts';
import { dead, excerpt, retryOrAbandon, type RetryDependencies } from './try-result.ts';

export interface MailDependencies extends RetryDependencies {
  /** Null if `HEDDLE_SMTP_URL` is not set. */
  mail?: MailServer | null | undefined;
}

const NO_SERVER = 'this server has no mail server: set HEDDLE_SMTP_URL';

/** Performs one try of a delivery by mail. */
export async function mailTry(
  delivery: Delivery,
  message: MailMessage,
  limitMs: number,
  dependencies: MailDependencies,
  stop: AbortSignal | undefined,
): Promise<DeliveryResult> {
  const { id, tries, workflow_id, task_id } = delivery;
  const { mail } = dependencies;
  // Another server may have one, or this one after its next start.
  if (mail === null || mail === undefined) return retryOrAbandon(delivery, null, NO_SERVER, null, dependencies);
  const task: Record<string, string> = tellsOfWorkflow(delivery) ? {} : { 'X-Heddle-Task-Id': task_id };
  const headers = { 'X-Heddle-Workflow-Id': workflow_id, ...task };
  const sent = await mail.send({ message, id, headers }, limitMs, stop);
  if (sent.answer === 'accepted') return { id, tries, outcome: 'delivered', status: sent.status };
  const error = `${mail.name}${excerpt(sent.error, mail.secrets)}`;
  switch (sent.answer) {
    case 'stopped':
      return { id, tries, outcome: 'retry', status: null, error: sent.error, delay_ms: 0 };
    case 'refused':
      return dead(delivery, sent.status, error);
    case 'failed':
      return retryOrAbandon(delivery, sent.status, error, null, dependencies);
  }
}
