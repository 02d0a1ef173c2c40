import { workerQueueOf } from '../../domain/message.ts';
import { dispatchedKinds } from '../../store/manager-reads.ts';
import { noteDeadLetters } from '../../store/queue-messages.ts';
import type { ManagerContext } from './context.ts';

/**
 * Records messages of workers' queues that the queue service dead-lettered by itself: the tasks that they start end, or
 * are retried, at the next check of their leases.
 *
 * @returns number of messages, those of earlier calls included
 */
export async function recordDeadLetters({ database, queue }: ManagerContext): Promise<number> {
  if (queue?.listDeadLettered === undefined) return 0;
  const kinds = await dispatchedKinds(database);
  if (kinds.length === 0) return 0;
  const deadLettered = await queue.listDeadLettered(kinds.map(workerQueueOf));
  let count = 0;
  for (const [name, messages] of deadLettered) {
    await noteDeadLetters(database, name, messages);
    count += messages.length;
  }
  return count;
}
