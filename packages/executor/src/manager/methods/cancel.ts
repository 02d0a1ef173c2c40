import type { JobOutcome } from '../../execution/port.ts';
import { RemoteFailure } from '../../protocol/codes.ts';
import type { CancelRequest } from '../../protocol/messages.ts';
import type { Caller, Received } from '../../security/port.ts';
import type { ManagerContext } from '../context.ts';
import { readCancel } from '../request-fields.ts';
import type { Dispatcher } from '../steps/dispatch.ts';
import { answerOf, type Answer } from '../steps/respond.ts';
import type { TaskEntry } from '../task-entry.ts';
import { waitForCompletion } from '../wait-for-completion.ts';
import { requireScope } from './poll.ts';

/** Time for a process to end before the response reports the task as still running. */
const WAIT_MS = 5_000;

export const CANCELED: JobOutcome = { status: 'error', code: 'CANCELED', message: '' };

/** Cancels a task of the caller; one that has ended keeps its outcome. */
export async function cancel(
  context: ManagerContext,
  dispatcher: Dispatcher,
  received: Received,
  caller: Caller,
): Promise<Answer> {
  requireScope(caller, 'task:cancel');
  const task = taskToCancel(context, caller, readCancel(received.request.payload));
  await task.admitted;
  if (!task.isCompleted && !(await dispatcher.cancel(task, CANCELED))) stopRunning(context, task);
  await waitForCompletion(context, task, { signal: received.signal, waitMs: WAIT_MS });
  return await answerOf(context, received, task);
}

function taskToCancel({ tasks }: ManagerContext, { client }: Caller, request: CancelRequest): TaskEntry {
  const { correlation_id, idempotency_key } = request;
  if (correlation_id !== undefined) return tasks.own(client, correlation_id);
  const task = tasks.byKey(client, idempotency_key ?? '');
  if (task === undefined || task.state === 'acknowledged') throw new RemoteFailure('NOT_FOUND');
  return task;
}

/** Recorded in the journal, so that a canceled task is not restarted after a crash. */
function stopRunning({ journal }: ManagerContext, task: TaskEntry): void {
  if (task.state !== 'running' || task.cancelRequested) return;
  task.cancelRequested = true;
  journal.append({ type: 'cancel', id: task.id });
  task.stop?.abort(new Error('the task was canceled'));
}
