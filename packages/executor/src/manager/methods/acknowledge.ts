import type { Caller, Received } from '../../security/port.ts';
import type { ManagerContext } from '../context.ts';
import { encode } from '../payloads.ts';
import { readAck } from '../request-fields.ts';
import type { Answer } from '../steps/respond.ts';
import { ACKNOWLEDGED_TTL_MS, setAcknowledged } from '../steps/cleanup.ts';
import { requireScope } from './poll.ts';

/** Acknowledges outcomes, which are then no longer stored. Resolves when that is durable. */
export async function acknowledge(context: ManagerContext, received: Received, caller: Caller): Promise<Answer> {
  requireScope(caller, 'task:poll');
  const { correlation_ids } = readAck(received.request.payload);
  const { tasks, options, journal } = context;
  const acknowledged: string[] = [];
  const at_ms = options.clock.now();
  for (const id of correlation_ids) {
    const task = tasks.find(caller.client, id);
    if (task?.state !== 'completed') continue;
    acknowledged.push(id);
    setAcknowledged(context, task, at_ms + ACKNOWLEDGED_TTL_MS);
    options.audit.append({ action: 'acknowledged', client: caller.client, correlation_id: id });
  }
  if (acknowledged.length > 0) await journal.append({ type: 'acknowledged', ids: acknowledged, at_ms }).durable;
  return {
    payload: encode({ status: 'ok', acknowledged }),
    correlationId: '',
    code: null,
    pending: false,
  };
}
