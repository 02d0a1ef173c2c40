import type { WebhookHeaders } from '@heddle/base/vocabulary/task';
import type { JsonObject, JsonValue } from '@heddle/base/json';
import { mailAddressFault } from '../notification/mail-address.ts';
import {
  NOTIFY_STATES,
  NOTIFY_STATES_DEFAULT,
  type Channel,
  type Notification,
  type NotifyState,
  type WorkflowNotification,
} from '../notification/notification.ts';
import { webhookHeaderFaults, webhookUrlFault } from '../webhook.ts';
import { isObject, shown } from '@heddle/base/parse/faults';
import { readValue } from '@heddle/base/parse/json-value';
import { Members } from '@heddle/base/parse/members';
import { placeOf, quoted } from '@heddle/base/parse/path';
import { suggestName } from '@heddle/base/suggest';

/** Members of the content and the recipients, in a task's input and in an entry of `notify`. */
export const NOTIFICATION_MEMBERS = ['to', 'title', 'text', 'payload'] as const;

const ENTRIES_MAX = 16;
const RECIPIENTS_MAX = 50;
const URL_CHARS_MAX = 4096;
const TITLE_CHARS_MAX = 500;
const TEXT_CHARS_MAX = 16_000;
const PAYLOAD_BYTES_MAX = 32_768;
const HEADERS_MAX = 64;
const CHANNELS = ['webhook', 'slack', 'email'] as const satisfies readonly Channel['type'][];
const VERBS = ['Post', 'Put', 'Patch'] as const;

/** Placeholder destination if `to` is invalid, in which case there is a fault. */
const NOWHERE: Channel = { type: 'slack', url: '' };

/** Reads `to`, `title`, `text` and `payload`; other members are the caller's. */
export function readNotification(members: Members): Notification {
  return {
    channel: readChannel(members),
    title: members.text('title', TITLE_CHARS_MAX),
    text: members.text('text', TEXT_CHARS_MAX),
    payload: readPayload(members),
  };
}

/** Reads the member `notify` of a workflow, an array of entries; empty if absent. */
export function readWorkflowNotifications(workflow: Members): WorkflowNotification[] {
  const value = workflow.raw('notify');
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > ENTRIES_MAX) {
    const what = Array.isArray(value) ? `an array of ${value.length}` : shown(value);
    workflow.fault('notify', `must be an array of at most ${ENTRIES_MAX} notifications, not ${what}`);
    return [];
  }
  return value.flatMap((entry: unknown, index) => {
    const place = placeOf(workflow.at('notify'), index);
    if (!isObject(entry)) {
      workflow.faults.add(place, `must be an object, not ${shown(entry)}`);
      return [];
    }
    const members = new Members(entry, place, workflow.faults);
    members.refuseOthers(['on', ...NOTIFICATION_MEMBERS]);
    return [{ on: readStates(members), ...readNotification(members) }];
  });
}

function readStates(members: Members): readonly NotifyState[] {
  const value = members.raw('on');
  if (value === undefined || value === null) return NOTIFY_STATES_DEFAULT;
  if (!Array.isArray(value) || value.length === 0) {
    members.fault('on', `must be an array of ${NOTIFY_STATES.join(', ')}, not ${shown(value)}`);
    return NOTIFY_STATES_DEFAULT;
  }
  const states = value.flatMap((given: unknown, index) => {
    const known = NOTIFY_STATES.find((state) => state === given);
    if (known !== undefined) return [known];
    const near = typeof given === 'string' ? suggestName(given, NOTIFY_STATES) : null;
    const remedy = near === null ? '' : `; did you mean ${quoted(near)}?`;
    members.faults.add(
      placeOf(members.at('on'), index),
      `must be one of ${NOTIFY_STATES.join(', ')}, not ${shown(given)}${remedy}`,
    );
    return [];
  });
  return [...new Set(states)];
}

function readChannel(members: Members): Channel {
  const value = members.raw('to');
  members.requireAll('to');
  if (!isObject(value)) {
    if (members.has('to')) members.fault('to', `must be an object, not ${shown(value)}`);
    return NOWHERE;
  }
  const to = new Members(value, members.at('to'), members.faults);
  to.refuseOthers(CHANNELS);
  const [type, second] = CHANNELS.filter((name) => to.has(name));
  if (type === undefined || second !== undefined) {
    to.faults.add(to.place, `must have one of ${CHANNELS.join(', ')}, not ${type === undefined ? 'none' : 'several'}`);
    return NOWHERE;
  }
  const inner = to.raw(type);
  if (!isObject(inner)) {
    to.fault(type, `must be an object, not ${shown(inner)}`);
    return NOWHERE;
  }
  return READERS[type](new Members(inner, to.at(type), to.faults));
}

const READERS = {
  webhook: readWebhook,
  slack: (slack: Members): Channel => {
    slack.refuseOthers(['url']);
    return { type: 'slack', url: readUrl(slack) };
  },
  email: readEmail,
} as const satisfies Record<Channel['type'], (members: Members) => Channel>;

function readWebhook(webhook: Members): Channel {
  webhook.refuseOthers(['url', 'verb', 'headers']);
  return {
    type: 'webhook',
    url: readUrl(webhook),
    verb: webhook.oneOf('verb', VERBS) ?? 'Post',
    headers: readHeaders(webhook),
  };
}

function readUrl(channel: Members): string {
  channel.requireAll('url');
  const url = channel.text('url', URL_CHARS_MAX);
  const fault = url === null ? null : webhookUrlFault(url);
  if (fault !== null) channel.fault('url', fault);
  return url ?? '';
}

function readHeaders(webhook: Members): WebhookHeaders | null {
  const headers = webhook.raw('headers');
  if (headers === undefined || headers === null) return null;
  if (!isObject(headers) || Object.keys(headers).length > HEADERS_MAX) {
    webhook.fault('headers', `must be an object of at most ${HEADERS_MAX} headers`);
    return null;
  }
  const at = webhook.at('headers');
  for (const [name, fault] of webhookHeaderFaults(headers)) webhook.faults.add(placeOf(at, name), fault);
  return headers as WebhookHeaders;
}

function readEmail(email: Members): Channel {
  email.refuseOthers(['to', 'subject']);
  email.requireAll('to');
  return { type: 'email', to: readRecipients(email), subject: email.text('subject', TITLE_CHARS_MAX) };
}

function readRecipients(email: Members): string[] {
  const value = email.raw('to');
  if (value === undefined || value === null) return [];
  const given = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(given) || given.length === 0 || given.length > RECIPIENTS_MAX) {
    const what = Array.isArray(given) ? `an array of ${given.length}` : shown(given);
    email.fault('to', `must be an array of 1 to ${RECIPIENTS_MAX} addresses, not ${what}`);
    return [];
  }
  const distinct = new Map<string, string>();
  for (const [index, address] of (given as unknown[]).entries()) {
    const fault = typeof address === 'string' ? mailAddressFault(address) : 'must be a string';
    if (fault === null) distinct.set((address as string).toLowerCase(), address as string);
    else email.faults.add(placeOf(email.at('to'), index), `${fault}, not ${shown(address)}`);
  }
  return [...distinct.values()];
}

function readPayload(members: Members): JsonValue | undefined {
  const value = members.raw('payload');
  if (value === undefined) return undefined;
  const payload = readValue(value, members.at('payload'), members.faults);
  if (new TextEncoder().encode(JSON.stringify(value)).length > PAYLOAD_BYTES_MAX) {
    members.fault('payload', `must have at most ${PAYLOAD_BYTES_MAX} bytes as JSON`);
  }
  return payload;
}

/** Encodes entries in their wire form; parsing it gives the same entries again. */
export function encodeWorkflowNotifications(entries: readonly WorkflowNotification[]): JsonObject[] {
  return entries.map(({ on, channel, title, text, payload }) => ({
    on: [...on],
    to: encodeChannel(channel),
    ...(title === null ? {} : { title }),
    ...(text === null ? {} : { text }),
    ...(payload === undefined ? {} : { payload }),
  }));
}

function encodeChannel({ type, ...channel }: Channel): JsonObject {
  const members = Object.entries(channel).filter(([, value]) => value !== null);
  return { [type]: Object.fromEntries<JsonValue>(members as [string, JsonValue][]) };
}
