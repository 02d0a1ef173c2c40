import { isSecretParameter } from '@heddle/base/secret-names';
import { handleUrl, standardWebhookHeaders } from '@heddle/base/signing';
import { tellsOfWorkflow } from '@heddle/core/domain/notification/notification';
import type { WebhookParams } from '@heddle/base/vocabulary/task';
import type { Delivery, DeliveryTrigger } from '@heddle/core/engine/port';

/**
 * The triggers as named on the wire and in metrics: a task ends with success or failure, `notify` is any notification.
 */
export type WireTrigger = 'start' | 'end' | 'cancel' | 'notify';

const WIRE_TRIGGER = {
  start: 'start',
  success: 'end',
  failure: 'end',
  cancel: 'cancel',
  notify: 'notify',
} as const satisfies Record<DeliveryTrigger, WireTrigger>;

export function wireTriggerOf(trigger: DeliveryTrigger): WireTrigger {
  return WIRE_TRIGGER[trigger];
}

const METHOD_OF_VERB = { Get: 'GET', Post: 'POST', Put: 'PUT', Patch: 'PATCH', Delete: 'DELETE' } as const;

/** What every request needs beside its delivery. */
export interface WebhookIdentity {
  /** Public base URL of this server, for handles. */
  hostUrl: string;
  /** Signs handles. */
  handleKey: Uint8Array;
  /** Keys that sign bodies; one signature each, so that receivers can change keys at their own pace. */
  signingKeys: readonly Uint8Array[];
  /** Heddle's version, for `user-agent`. */
  version: string;
}

/** Parameters of a call with the values of its secrets. */
export type SendableParams = Omit<WebhookParams, 'headers'> & { headers?: Record<string, string> };

export interface WebhookRequest {
  url: URL;
  method: (typeof METHOD_OF_VERB)[keyof typeof METHOD_OF_VERB];
  headers: Record<string, string>;
  body: string | null;
  /** Strings that must not appear in an error: the handle's signature, and secrets of the action's URL and headers. */
  secrets: readonly string[];
}

/** Headers that describe the connection or that Heddle sends itself; those of an action are dropped if they collide. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'idempotency-key',
  'keep-alive',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'x-task-id',
  'x-task-trigger',
  'x-workflow-id',
]);
const RESERVED_PREFIXES: readonly string[] = ['proxy-', 'webhook-'];

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Latin-1 without control characters: what a header can contain without smuggling a second request. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Returns whether an action's header of this name would be dropped. */
function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return RESERVED_HEADERS.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

/** Returns why an action's header is invalid; null if it can be sent. */
export function validateWebhookHeader(name: string, value: string): string | null {
  if (!HEADER_NAME.test(name)) return 'is not a valid header name';
  if (!HEADER_VALUE.test(value)) return 'must not contain control characters or characters beyond Latin-1';
  return null;
}

/**
 * Builds the request of one try.
 * @param params the request members of its action
 * @param nowMs milliseconds since the epoch, for the signature's time
 * @param traceparent W3C trace context of the try; null if there is none
 */
export function buildWebhookRequest(
  delivery: Delivery,
  params: SendableParams,
  identity: WebhookIdentity,
  nowMs: number,
  traceparent: string | null,
): WebhookRequest {
  const url = new URL(params.url);
  const secrets = secretsOf(url);
  if (delivery.trigger === 'start') {
    const handle = handleUrl(identity.hostUrl, delivery.task_id, delivery.attempt, identity.handleKey);
    setHandle(url, handle);
    secrets.push(new URL(handle).searchParams.get('signature') ?? handle);
  }
  // The path of a Slack webhook is a secret: it grants the right to post.
  if ('channel' in delivery.action && delivery.action.channel === 'slack') secrets.push(url.pathname);
  // JSON.stringify of null would send the string `null`; an absent body and a null one are equivalent here.
  const hasBody = params.verb !== 'Get' && params.body !== undefined && params.body !== null;
  const body = hasBody ? JSON.stringify(params.body) : null;
  const own = ownHeaders(params.headers);
  secrets.push(...Object.values(own));
  const headers: Record<string, string> = {
    ...(body === null ? {} : { 'content-type': 'application/json' }),
    ...own,
    'user-agent': `heddle/${identity.version}`,
    'idempotency-key': delivery.idempotency_key,
    ...subjectOf(delivery),
    'x-task-trigger': wireTriggerOf(delivery.trigger),
    ...standardWebhookHeaders(delivery.id, Math.floor(nowMs / 1000), body ?? '', identity.signingKeys),
    ...(traceparent === null ? {} : { traceparent }),
  };
  return { url, method: METHOD_OF_VERB[params.verb], headers, body, secrets };
}

/** The values of a URL's secret parameters, in the forms in which a target might repeat them. */
function secretsOf({ searchParams }: URL): string[] {
  return [...searchParams].filter(([name]) => isSecretParameter(name)).map(([, value]) => value);
}

/** What the request concerns: a task, for a notification also its workflow, or the workflow alone. */
function subjectOf(delivery: Delivery): Record<string, string> {
  const { trigger, task_id, workflow_id } = delivery;
  const task = tellsOfWorkflow(delivery) ? {} : { 'x-task-id': task_id };
  return trigger === 'notify' ? { ...task, 'x-workflow-id': workflow_id } : task;
}

/** Appends the handle and keeps the rest of the query byte for byte, unlike `searchParams`. */
function setHandle(url: URL, handle: string): void {
  const kept = url.search
    .slice(1)
    .split('&')
    .filter((part) => part !== '' && part !== 'handle' && !part.startsWith('handle='));
  url.search = [...kept, `handle=${encodeURIComponent(handle)}`].join('&');
}

function ownHeaders(headers: Record<string, string> | undefined): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (!isReservedHeader(name) && validateWebhookHeader(name, value) === null) kept[name.toLowerCase()] = value;
  }
  return kept;
}
