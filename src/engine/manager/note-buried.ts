import { workerQueueOf } from '../../domain/message.ts';
import { dispatchedKinds } from '../../store/manager-reads.ts';
import { noteDeadLetters } from '../../store/queue-messages.ts';
import type { ManagerContext } from './context.ts';

/**
 * Writes down which messages of workers' queues the queue's service buried by itself: the tasks that they start end, or
 * are tried again, when their leases are looked at next.
 *
 * @returns how many messages there were, those of earlier calls included
 */
export async function noteBuried({ database, queue }: ManagerContext): Promise<number> {
  if (queue?.listBuried === undefined) return 0;
  const kinds = await dispatchedKinds(database);
  if (kinds.length === 0) return 0;
  const buried = await queue.listBuried(kinds.map(workerQueueOf));
  let count = 0;
  for (const [name, messages] of buried) {
    await noteDeadLetters(database, name, messages);
    count += messages.length;
  }
  return count;
}
