import type { ResolvedEvent } from '../../events/port.ts';
import type { JobOutcome } from '../../execution/port.ts';
import { RemoteFailure } from '../../protocol/codes.ts';
import { isAllowed, type ManagerContext } from '../context.ts';
import type { TaskEntry } from '../task-entry.ts';

/** Step 5: returns the event with its code, fetched if missing, or the outcome of a task whose code is unavailable. */
export async function resolve(
  context: ManagerContext,
  task: TaskEntry,
  signal: AbortSignal,
): Promise<ResolvedEvent | JobOutcome> {
  const { options } = context;
  const { event_name, client, traceparent = null } = task.accepted;
  // A task from before a restart was accepted under the previous settings.
  if (!isAllowed(context, event_name)) {
    const message = `The event ${event_name} is no longer allowed here`;
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
    // The event existed when the task was accepted, so any failure now means that it is unavailable.
    return { status: 'error', code: 'EVENT_UNAVAILABLE', message: error.message, details: error.details };
  }
  log.error({ err: error }, 'could not resolve the code of an event');
  return { status: 'error', code: 'EVENT_UNAVAILABLE', message: '' };
}
