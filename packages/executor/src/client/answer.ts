import { TextDecoder } from 'node:util';

import { REMOTE_CODES } from '../protocol/codes.ts';
import type { SignedResponse } from '../protocol/envelope.ts';
import type {
  AckResponse,
  ErrorResponse,
  EventResponse,
  EventsResponse,
  PendingResponse,
  RemoteMethod,
  StatusResponse,
  SuccessResponse,
} from '../protocol/messages.ts';
import { ForgedAnswer, RemoteCallFailure } from './failures.ts';

/** Successful response of each method. */
export interface Answers {
  submit: SuccessResponse | PendingResponse;
  poll: SuccessResponse | PendingResponse;
  cancel: SuccessResponse | PendingResponse;
  ack: AckResponse;
  events: EventsResponse;
  event: EventResponse;
  status: StatusResponse;
}

const TASK_STATUSES = ['success', 'pending', 'running'];

const STATUSES: Readonly<Record<RemoteMethod, readonly string[]>> = {
  submit: TASK_STATUSES,
  poll: TASK_STATUSES,
  cancel: TASK_STATUSES,
  ack: ['ok'],
  events: ['ok'],
  event: ['ok'],
  status: ['healthy', 'draining', 'degraded'],
};

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a response whose MAC was verified.
 *
 * @throws RemoteCallFailure if it reports a failure; ForgedAnswer if it is not a valid response of the method
 */
export function readAnswer<Method extends RemoteMethod>(
  method: Method,
  response: SignedResponse,
  endpoint: string,
): Answers[Method] {
  const payload = readObject(response.payload);
  if (payload['status'] === 'error') throw failureOf(payload, endpoint);
  const { status, correlation_id } = payload;
  if (typeof status !== 'string' || !STATUSES[method].includes(status)) {
    throw new ForgedAnswer(`${method} cannot have the status ${String(status)}`);
  }
  if (STATUSES[method] === TASK_STATUSES) {
    if (typeof correlation_id !== 'string' || correlation_id !== response.correlation_id) {
      throw new ForgedAnswer('its payload and envelope name different tasks');
    }
    if (status === 'success' && payload['result'] === undefined) throw new ForgedAnswer('it has no result');
  }
  return payload as unknown as Answers[Method];
}

/** Builds the failure described by an error payload. Unknown codes map to INTERNAL and are quoted in the message. */
export function failureOf(payload: Record<string, unknown>, endpoint: string): RemoteCallFailure {
  const { code, message, details, retry_after_secs, available_events, correlation_id } =
    payload as unknown as Partial<ErrorResponse>;
  const known = typeof code === 'string' && Object.hasOwn(REMOTE_CODES, code);
  const text = typeof message === 'string' ? message : '';
  return new RemoteCallFailure(
    known ? code : 'INTERNAL',
    known ? text || REMOTE_CODES[code].title : `${String(code)}: ${text}`,
    {
      details: textsOf(details),
      ...(typeof retry_after_secs === 'number' ? { retryAfterSecs: retry_after_secs } : {}),
      ...(available_events === undefined ? {} : { availableEvents: textsOf(available_events) }),
      correlationId: typeof correlation_id === 'string' && correlation_id !== '' ? correlation_id : null,
      endpoint,
    },
  );
}

/** Parses a payload as a JSON object. @throws ForgedAnswer if it is not one */
export function readObject(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch {
    throw new ForgedAnswer('its payload is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ForgedAnswer('its payload is not a JSON object');
  }
  return value as Record<string, unknown>;
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
