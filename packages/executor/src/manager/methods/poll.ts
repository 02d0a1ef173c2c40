import { RemoteFailure } from '../../protocol/codes.ts';
import type { Caller, Received } from '../../security/port.ts';
import { allows, type ScopeNeed } from '../../security/scopes.ts';
import type { ManagerContext } from '../context.ts';
import { readPoll } from '../request-fields.ts';
import { answerOf, type Answer } from '../steps/respond.ts';
import { waitForCompletion } from '../wait-for-completion.ts';

/** Returns the state of the caller's task; waits for its end as long as requested. */
export async function poll(context: ManagerContext, received: Received, caller: Caller): Promise<Answer> {
  requireScope(caller, 'task:poll');
  const request = readPoll(received.request.payload, received.pathCorrelationId ?? null);
  const task = context.tasks.own(caller.client, request.correlation_id);
  await task.admitted;
  await waitForCompletion(context, task, { signal: received.signal, waitMs: (request.wait_secs ?? 0) * 1000 });
  return await answerOf(context, received, task);
}

/** @throws RemoteFailure FORBIDDEN */
export function requireScope({ scopes }: Caller, need: ScopeNeed): void {
  if (!allows(scopes, need)) throw new RemoteFailure('FORBIDDEN', `The token lacks the scope ${need}`);
}
