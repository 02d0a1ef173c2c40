import type { ResolvedEvent } from '../../events/port.ts';
import type { JobOutcome } from '../../execution/port.ts';
import { RemoteFailure } from '../../protocol/codes.ts';
import { isAllowed, type ManagerContext } from '../context.ts';
import type { TaskEntry } from '../task-entry.ts';

/** Step 5: the event's code, fetched where it is not there; or the outcome of a task whose code cannot be had. */
export async function resolve(
  context: ManagerContext,
  task: TaskEntry,
  signal: AbortSignal,
): Promise<ResolvedEvent | JobOutcome> {
  const { options } = context;
  const { event_name, client, traceparent = null } = task.accepted;
  // One that waited for the restart was accepted under the settings of before.
  if (!isAllowed(context, event_name)) {
    const message = `The event ${event_name} is not allowed here any more`;
    return { status: 'error', code: 'EVENT_UNAVAILABLE', message };
  }
  try {
    const event = await options.tracing.resolve(traceparent, event_name, () =>
      options.registry.resolve(event_name, signal),
    );
    const { digest } = event.code;
    options.audit.append({ action: 'resolved', client, correlation_id: task.id, event_name, digest });
    return event;
  } catch (error) {
    return unavailable(error, options.log);
  }
}

function unavailable(error: unknown, log: ManagerContext['options']['log']): JobOutcome {
  if (error instanceof RemoteFailure) {
    // Whoever waited for it was told at its submission that the event is there.
    return { status: 'error', code: 'EVENT_UNAVAILABLE', message: error.message, details: error.details };
  }
  log.error({ err: error }, 'the code of an event could not be resolved');
  return { status: 'error', code: 'EVENT_UNAVAILABLE', message: '' };
}
