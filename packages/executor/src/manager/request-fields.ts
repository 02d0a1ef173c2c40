import type { JsonObject } from '@heddle/base/json';
import { HeddleError } from '@heddle/base/errors';
import { MAX_JSON_DEPTH, parseStrictJson } from '@heddle/base/json/parse';
import { RemoteFailure } from '../protocol/codes.ts';
import type { AckRequest, CancelRequest, PollRequest, SubmitRequest } from '../protocol/messages.ts';

/** ASCII only and compared byte by byte, so that no two names look alike. */
const EVENT_NAME = /^[A-Za-z0-9_.-]{1,200}$/;
const KEY_CHARACTERS_MAX = 200;
const ID_CHARACTERS_MAX = 64;
const WAIT_SECS_MAX = 30;
const ACK_IDS_MAX = 1_000;
const TIMEOUT_SECS_MAX = 7 * 24 * 3600;

type Members = Readonly<Record<string, unknown>>;
/** Returns what is wrong with a member; null if it is valid. */
type Check = (value: unknown) => string | null;

const eventName: Check = (value) =>
  typeof value === 'string' && EVENT_NAME.test(value)
    ? null
    : 'must be a string of 1 to 200 characters from A-Z a-z 0-9 _ . -';
const text =
  (charactersMax: number): Check =>
  (value) =>
    typeof value === 'string' && value !== '' && value.length <= charactersMax
      ? null
      : `must be a string of 1 to ${charactersMax} characters`;
const number =
  (min: number, max: number): Check =>
  (value) =>
    typeof value === 'number' && value >= min && value <= max ? null : `must be a number from ${min} to ${max}`;

const SUBMIT_CHECKS: Readonly<Record<keyof SubmitRequest, Check>> = {
  event_name: eventName,
  args: (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? null : 'must be an object; use {} for none',
  mode: (value) => (value === 'sync' || value === 'async' ? null : 'must be sync or async'),
  idempotency_key: text(KEY_CHARACTERS_MAX),
  timeout_secs: (value) =>
    typeof value === 'number' && value > 0 && value <= TIMEOUT_SECS_MAX
      ? null
      : `must be a number greater than 0 and at most ${TIMEOUT_SECS_MAX}`,
  deadline_ms: (value) =>
    Number.isSafeInteger(value) && (value as number) >= 0 ? null : 'must be whole milliseconds since the epoch',
};
const POLL_CHECKS: Readonly<Record<keyof PollRequest, Check>> = {
  correlation_id: text(ID_CHARACTERS_MAX),
  wait_secs: number(0, WAIT_SECS_MAX),
};
const CANCEL_CHECKS: Readonly<Record<keyof CancelRequest, Check>> = {
  correlation_id: text(ID_CHARACTERS_MAX),
  idempotency_key: text(KEY_CHARACTERS_MAX),
};
const ACK_CHECKS: Readonly<Record<keyof AckRequest, Check>> = {
  correlation_ids: (value) =>
    Array.isArray(value) &&
    value.length <= ACK_IDS_MAX &&
    value.every((id) => typeof id === 'string' && id.length <= ID_CHARACTERS_MAX)
      ? null
      : `must be an array of at most ${ACK_IDS_MAX} correlation ids`,
};

/** @throws RemoteFailure MALFORMED; INVALID_ARGS if only `args` is invalid */
export function readSubmit(payload: Uint8Array): SubmitRequest {
  return readMembers(payload, SUBMIT_CHECKS, ['event_name', 'args']) as unknown as SubmitRequest;
}

/** @param pathId id from the path, used if the payload is empty; null for other protocols */
export function readPoll(payload: Uint8Array, pathId: string | null): PollRequest {
  if (payload.length === 0 && pathId !== null) return { correlation_id: pathId };
  const poll = readMembers(payload, POLL_CHECKS, ['correlation_id']) as unknown as PollRequest;
  if (pathId !== null && poll.correlation_id !== pathId) {
    throw malformed(['correlation_id: must match the path']);
  }
  return poll;
}

export function readCancel(payload: Uint8Array): CancelRequest {
  const request = readMembers(payload, CANCEL_CHECKS, []) as CancelRequest;
  if (Object.keys(request).length !== 1)
    throw malformed(['body: must have exactly one of correlation_id and idempotency_key']);
  return request;
}

export function readAck(payload: Uint8Array): AckRequest {
  return readMembers(payload, ACK_CHECKS, ['correlation_ids']) as unknown as AckRequest;
}

export function readEvent(payload: Uint8Array): { event_name: string } {
  return readMembers(payload, { event_name: eventName }, ['event_name']) as { event_name: string };
}

/** Verifies that a payload is `{}`. */
export function readNothing(payload: Uint8Array): void {
  readMembers(payload, {}, []);
}

function readMembers(payload: Uint8Array, checks: Readonly<Record<string, Check>>, required: readonly string[]) {
  const members = readObject(payload);
  const faults: string[] = [];
  for (const name in members) {
    const fault = Object.hasOwn(checks, name) ? checks[name]!(members[name]) : 'is not a member of this request';
    if (fault !== null) faults.push(`${name.slice(0, 100)}: ${fault}`);
  }
  for (const name of required) if (!Object.hasOwn(members, name)) faults.push(`${name}: is required`);
  if (faults.length === 0) return members;
  if (faults.length === 1 && faults[0]!.startsWith('args: must')) {
    throw new RemoteFailure('INVALID_ARGS', undefined, { details: faults });
  }
  throw malformed(faults.slice(0, 100));
}

function readObject(payload: Uint8Array): Members {
  let value: unknown;
  try {
    const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    // Arguments belong to the event and may be any JSON.
    value = parseStrictJson(bytes, '', MAX_JSON_DEPTH, {}, 'floats');
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    throw malformed(error.details);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw malformed(['body: must be a JSON object']);
}

function malformed(details: readonly string[]): RemoteFailure {
  return new RemoteFailure('MALFORMED', undefined, { details });
}
