import { isUuid } from '@heddle/base/ids';
import { parseManagerMessage } from '../../domain/parse/message.ts';
import type { ReceivedMessage } from '../../queue/port.ts';
import { Batch, inboxKey } from './batch.ts';
import type { ManagerContext } from './context.ts';

/** Step 1: sorts messages by type; dead-letters unreadable ones with the reason. */
export function parseMessages(context: ManagerContext, messages: readonly ReceivedMessage[]): Batch {
  const batch = new Batch(messages);
  for (const { id, body, receive_count } of messages) {
    const parsed = parseManagerMessage(body, context.newId);
    if (parsed.ok) {
      batch.add({ id, key: inboxKey(parsed.message_id ?? id), receive_count, message: parsed.message });
    } else {
      batch.settle({ id, receive_count }, { outcome: 'dead_lettered', reason: parsed.reason });
      const jobRun = jobRunOf(body);
      if (jobRun !== null) batch.refuseJobRun(jobRun, parsed.reason);
    }
  }
  return batch;
}

/** Returns the job run that waits for an unreadable workflow, so that its job does not wait forever. */
function jobRunOf(body: string): string | null {
  if (!body.includes('"job_run_id"')) return null;
  try {
    const { job_run_id } = JSON.parse(body) as { job_run_id?: unknown };
    return typeof job_run_id === 'string' && isUuid(job_run_id) ? job_run_id : null;
  } catch {
    return null;
  }
}
