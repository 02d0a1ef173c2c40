import { isObject, shown } from '@heddle/base/parse/faults';
import type { JsonObject } from '@heddle/base/json';
import { describeMember, schemaOf } from '../definition/input-schema.ts';

export interface RemoteEventInput {
  event_name: string;
  args: JsonObject;
  /** Time limit of one run in seconds; null if the task's own limit applies. */
  timeout_secs: number | null;
  /** Name of an executor; null for the first one. */
  executor: string | null;
}

const EVENT_NAME = /^[A-Za-z0-9_.-]{1,200}$/;
const NAME_CHARACTERS_MAX = 200;
const TIMEOUT_SECS_MAX = 86_400;

export const remoteEventSchema = schemaOf<RemoteEventInput, JsonObject>((input) => {
  input.refuseOthers(['event_name', 'args', 'timeout_secs', 'executor']);
  input.requireAll('event_name');
  const event_name = input.text('event_name', NAME_CHARACTERS_MAX) ?? '';
  if (event_name !== '' && !EVENT_NAME.test(event_name)) {
    input.fault('event_name', `must be 1 to 200 of A-Z a-z 0-9 _ . -, not ${shown(event_name)}`);
  }
  describeMember(input, 'args', { type: 'object' });
  const args = input.raw('args') ?? {};
  if (!isObject(args)) input.fault('args', `must be an object, not ${shown(args)}`);
  return {
    event_name,
    args: args as JsonObject,
    timeout_secs: input.integer('timeout_secs', 1, TIMEOUT_SECS_MAX),
    executor: input.text('executor', NAME_CHARACTERS_MAX) ?? null,
  };
});
