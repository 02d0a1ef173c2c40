import type { EventSummary, ResponsePayload } from '../../protocol/messages.ts';
import type { Caller, Received } from '../../security/port.ts';
import { allows } from '../../security/scopes.ts';
import { isAllowed, type ManagerContext } from '../context.ts';
import { encode } from '../payloads.ts';
import { readEvent, readNothing } from '../request-fields.ts';
import { strongerTier } from '../steps/instantiate.ts';
import type { Answer } from '../steps/respond.ts';
import { requireScope } from './poll.ts';

/** Lists the events that the caller may submit. */
export function listEvents(context: ManagerContext, { request }: Received, caller: Caller): Answer {
  requireScope(caller, 'events:list');
  readNothing(request.payload);
  const names = context.options.registry.names().filter((name) => maySubmit(context, caller, name));
  return plainAnswer({ status: 'ok', events: names.flatMap((name) => summaryOf(context, name) ?? []) });
}

/** Returns whether the caller may submit an event, without submitting it. */
export function findEvent(context: ManagerContext, { request }: Received, caller: Caller): Answer {
  const { event_name } = readEvent(request.payload);
  if (!allows(caller.scopes, `task:execute:${event_name}`)) requireScope(caller, 'events:list');
  const exists = maySubmit(context, caller, event_name) && context.options.registry.has(event_name);
  return plainAnswer({ status: 'ok', event_name, exists });
}

export function plainAnswer(payload: ResponsePayload): Answer {
  return { payload: encode(payload), correlationId: '', code: null, pending: false };
}

function maySubmit(context: ManagerContext, { scopes }: Caller, name: string): boolean {
  return isAllowed(context, name) && allows(scopes, `task:execute:${name}`);
}

function summaryOf({ options, settings }: ManagerContext, event_name: string): EventSummary | null {
  const known = options.registry.peek(event_name);
  if (known === null) return null;
  const { digest, source, definition } = known;
  return {
    event_name,
    digest,
    source,
    tier: strongerTier(settings.tier, definition?.tier ?? null),
    timeout_secs: Math.min(settings.taskTimeoutSecs, definition?.timeout_secs ?? Infinity),
    memory_mb: Math.min(settings.memoryMb, definition?.memory_mb ?? Infinity),
  };
}
