import type { Caller, Received } from '../../security/port.ts';
import type { ManagerContext } from '../context.ts';
import type { Health } from '../port.ts';
import { readNothing } from '../request-fields.ts';
import type { Answer } from '../steps/respond.ts';
import { plainAnswer } from './events.ts';
import { requireScope } from './poll.ts';

/** Returns the executor's status and the caller's recent tasks. */
export function status(
  { settings, tasks }: ManagerContext,
  received: Received,
  caller: Caller,
  health: Health,
): Answer {
  requireScope(caller, 'status:read');
  readNothing(received.request.payload);
  return plainAnswer({
    status: health.status,
    executor: settings.executorName,
    version: settings.version,
    tier: health.tier,
    workers: health.workers,
    busy: health.busy,
    queue_depth: health.queue_depth,
    max_pending_tasks: settings.maxPendingTasks,
    uptime_seconds: health.uptime_seconds,
    recent: tasks.recentOf(caller.client),
  });
}
