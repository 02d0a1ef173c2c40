import { parseStrictJson } from '@heddle/base/json/parse';
import { RemoteFailure } from '../protocol/codes.ts';
import { type Tier, TIERS } from '../protocol/messages.ts';
import { howEnded, outcomeOf, type ProcessTraces } from './outcome.ts';
import type { DescribedEvent } from './port.ts';
import type { Answer } from './worker-process.ts';

const NAME = /^[A-Za-z0-9_.-]{1,200}$/;
const EVENTS_MAX = 1_000;
const TIMEOUT_SECS_MAX = 86_400;
const MEMORY_MB_MAX = 65_536;

/** Validates the events that a process described. @throws RemoteFailure EVENT_UNAVAILABLE */
export function describedEvents(answer: Answer, traces: () => ProcessTraces): readonly DescribedEvent[] {
  if (answer.kind === 'described') return eventsIn(answer.bytes);
  if (answer.kind === 'ended' && !traces().wasOutOfMemory) {
    throw unavailable(`its process ended: ${howEnded(answer.ended)}`, traces().errorOutput.trim().slice(-400));
  }
  const outcome = outcomeOf(answer, 0, traces);
  throw unavailable(outcome.status === 'error' ? outcome.message : 'its process sent an unexpected response');
}

export function unavailable(reason: string, detail = ''): RemoteFailure {
  const details = detail === '' ? {} : { details: [detail.toWellFormed()] };
  return new RemoteFailure('EVENT_UNAVAILABLE', `the events of the code could not be determined: ${reason}`, details);
}

function eventsIn(bytes: Buffer): readonly DescribedEvent[] {
  let stated: unknown;
  try {
    stated = parseStrictJson(bytes, 'events');
  } catch {
    throw unavailable('its description is not JSON');
  }
  if (!Array.isArray(stated) || stated.length > EVENTS_MAX)
    throw unavailable('its description is not a list of events');
  return stated.map(eventOf);
}

function eventOf(stated: unknown): DescribedEvent {
  const { name, timeout_secs, memory_mb, tier, idempotent } = (stated ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || !NAME.test(name)) throw unavailable('an event has an invalid name');
  return {
    name,
    timeout_secs: wholeUpTo(TIMEOUT_SECS_MAX, timeout_secs),
    memory_mb: wholeUpTo(MEMORY_MB_MAX, memory_mb),
    tier: TIERS.includes(tier as Tier) ? (tier as Tier) : null,
    idempotent: idempotent === true,
  };
}

function wholeUpTo(max: number, value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= max ? (value as number) : null;
}
