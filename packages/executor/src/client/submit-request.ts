import type { JsonObject } from '@heddle/base/json';
import type { Random } from '@heddle/base/random';
import type { SubmitRequest } from '../protocol/messages.ts';
import type { SubmitOptions } from './options.ts';

const KEY_CHARACTERS_MAX = 200;
const OWN_KEY_BYTES = 16;

/** Builds a submit request, always with an idempotency key. @throws TypeError if an option is invalid */
export function submitRequestOf(
  event_name: string,
  args: JsonObject,
  { idempotencyKey, timeoutSecs }: SubmitOptions,
  { mode, random }: { mode: 'sync' | 'async'; random: Random },
): SubmitRequest & { idempotency_key: string } {
  if (typeof event_name !== 'string' || event_name === '')
    throw new TypeError('the event name must be a non-empty string');
  if (typeof args !== 'object' || (args as unknown) === null || Array.isArray(args)) {
    throw new TypeError('the event arguments must be an object');
  }
  if (idempotencyKey !== undefined && (idempotencyKey === '' || idempotencyKey.length > KEY_CHARACTERS_MAX)) {
    throw new TypeError(`idempotencyKey must have 1 to ${KEY_CHARACTERS_MAX} characters`);
  }
  const key = idempotencyKey ?? Buffer.from(random.bytes(OWN_KEY_BYTES)).toString('base64url');
  return {
    event_name,
    args,
    mode,
    idempotency_key: key,
    ...(timeoutSecs === undefined ? {} : { timeout_secs: timeoutSecs }),
  };
}
