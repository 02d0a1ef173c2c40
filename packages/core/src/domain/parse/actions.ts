import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { Action, ActionTrigger, WebhookHeaders, WebhookParams } from '@heddle/base/vocabulary/task';
import { webhookHeaderFaults, webhookUrlFault } from '../webhook.ts';
import { isObject, shown } from '@heddle/base/parse/faults';
import { readValue } from '@heddle/base/parse/json-value';
import { Members } from '@heddle/base/parse/members';
import { placeOf, type Place } from '@heddle/base/parse/path';

const ACTION_MEMBERS = ['kind', 'params', 'max_tries', 'abandon_after_secs'] as const;
const PARAMS_MEMBERS = ['url', 'verb', 'body', 'headers'] as const;
const VERBS = ['Get', 'Post', 'Put', 'Patch', 'Delete'] as const satisfies readonly WebhookParams['verb'][];
const ACTIONS_MAX = 16;
const URL_CHARS_MAX = 4096;
const TRIES_MAX = 100;
const ABANDON_AFTER_MAX_SECS = 604_800;

/** Member of a task that holds the actions of a trigger. */
export const ACTION_MEMBER = {
  start: 'on_start',
  success: 'on_success',
  failure: 'on_failure',
  cancel: 'on_cancel',
} as const satisfies Record<ActionTrigger, string>;

const TRIGGERS = Object.keys(ACTION_MEMBER) as readonly ActionTrigger[];

/** Webhooks of a task: `on_start` is one, the others are lists. */
export function readActions(task: Members): Action[] {
  return TRIGGERS.flatMap((trigger) => {
    const member = ACTION_MEMBER[trigger];
    const value = task.raw(member);
    if (value === undefined || value === null) return [];
    const place = task.at(member);
    if (trigger === 'start') return actionOf(value, trigger, place, task);
    if (!Array.isArray(value) || value.length > ACTIONS_MAX) {
      const what = Array.isArray(value) ? `an array of ${value.length}` : shown(value);
      task.fault(member, `must be an array of at most ${ACTIONS_MAX} actions, not ${what}`);
      return [];
    }
    return value.flatMap((one: unknown, index) => actionOf(one, trigger, placeOf(place, index), task));
  });
}

function actionOf(value: unknown, trigger: ActionTrigger, place: Place, { faults }: Members): Action[] {
  if (!isObject(value)) {
    faults.add(place, `must be an object, not ${shown(value)}`);
    return [];
  }
  const action = new Members(value, place, faults);
  action.refuseOthers(ACTION_MEMBERS);
  action.requireAll('kind', 'params');
  action.oneOf('kind', ['Webhook']);
  const maxTries = action.integer('max_tries', 1, TRIES_MAX);
  const abandonAfterSecs = action.integer('abandon_after_secs', 1, ABANDON_AFTER_MAX_SECS);
  return [
    {
      trigger,
      params: paramsOf(action),
      ...(maxTries === null ? {} : { max_tries: maxTries }),
      ...(abandonAfterSecs === null ? {} : { abandon_after_secs: abandonAfterSecs }),
    },
  ];
}

function paramsOf(action: Members): WebhookParams {
  const value = action.raw('params');
  if (!isObject(value)) {
    if (action.has('params')) action.fault('params', `must be an object, not ${shown(value)}`);
    return { url: '', verb: 'Post' };
  }
  const params = new Members(value, action.at('params'), action.faults);
  params.refuseOthers(PARAMS_MEMBERS);
  params.requireAll('url', 'verb');
  const url = params.text('url', URL_CHARS_MAX);
  const urlFault = url === null ? null : webhookUrlFault(url);
  if (urlFault !== null) params.fault('url', urlFault);
  const body = params.raw('body');
  const headers = headersOf(params);
  return {
    url: url ?? '',
    verb: params.oneOf('verb', VERBS) ?? 'Post',
    ...(body === undefined ? {} : { body: readValue(body, params.at('body'), params.faults) }),
    ...(headers === null ? {} : { headers }),
  };
}

function headersOf(params: Members): WebhookHeaders | null {
  const headers = params.raw('headers');
  if (headers === undefined || headers === null) return null;
  if (!isObject(headers)) {
    params.fault('headers', `must be an object, not ${shown(headers)}`);
    return null;
  }
  for (const [name, fault] of webhookHeaderFaults(headers)) {
    params.faults.add(placeOf(params.at('headers'), name), fault);
  }
  return headers as WebhookHeaders;
}

/** Members of a task that hold its actions. */
export function encodeActions(actions: readonly Action[]): JsonObject {
  const encoded: Record<string, JsonValue> = {};
  for (const trigger of TRIGGERS) {
    const list = actions.filter((action) => action.trigger === trigger).map(encodeAction);
    if (list.length === 0) continue;
    encoded[ACTION_MEMBER[trigger]] = trigger === 'start' ? list[0]! : list;
  }
  return encoded;
}

function encodeAction({ trigger: _, ...action }: Action): JsonObject {
  return { kind: 'Webhook', ...(action as unknown as JsonObject) };
}
