import type { Action, WebhookParams } from '@heddle/base/vocabulary/task';
import type { JsonValue } from '@heddle/base/json';
import { validateWebhookHeader } from './webhook-request.ts';

/** `none`: the response has no action. `invalid`: it has one, but `fault` (which names the field) rejects it. */
export type CancelActionReading =
  { reading: 'none' } | { reading: 'invalid'; fault: string } | { reading: 'action'; action: Action };

const VERBS = ['Get', 'Post', 'Put', 'Patch', 'Delete'] as const satisfies readonly WebhookParams['verb'][];
const HEADERS_MAX = 64;
/** Bodies deeper than the database accepts are not legitimate. */
const DEPTH_MAX = 100;

type Fields = Readonly<Record<string, unknown>>;

class Fault extends Error {}

/**
 * Reads the response of a start webhook: a `NewActionDto` in it registers a cancel action for the task.
 * @param text the whole body of the response
 * @param refuseUrl returns why a URL may not be called; null if it may
 */
export function readCancelAction(text: string, refuseUrl: (url: string) => string | null): CancelActionReading {
  const answer = parseObject(text);
  // Targets may respond with `{"ok": true}` and similar; only an object that declares an action is validated.
  if (answer === null || (answer['kind'] === undefined && answer['params'] === undefined)) return { reading: 'none' };
  try {
    requireStorable(answer, 0);
    return { reading: 'action', action: readAction(answer, refuseUrl) };
  } catch (error) {
    if (error instanceof Fault) return { reading: 'invalid', fault: error.message };
    throw error;
  }
}

function parseObject(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One string that the database cannot store would fail the whole set of results that it is stored with. */
function requireStorable(value: unknown, depth: number): void {
  if (depth > DEPTH_MAX) throw new Fault(`params.body: must be nested at most ${DEPTH_MAX} levels deep`);
  if (typeof value === 'string') requireStorableText(value);
  else if (Array.isArray(value)) for (const item of value) requireStorable(item, depth + 1);
  else if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      requireStorableText(name);
      requireStorable(item, depth + 1);
    }
  }
}

function requireStorableText(text: string): void {
  if (text.includes('\u0000') || !text.isWellFormed()) {
    throw new Fault('params: strings must not contain NUL characters or unpaired surrogates');
  }
}

function readAction(answer: Fields, refuseUrl: (url: string) => string | null): Action {
  if (answer['kind'] !== 'Webhook') throw new Fault('kind: must be Webhook');
  const trigger = answer['trigger'] ?? 'Cancel';
  if (trigger !== 'Cancel') throw new Fault('trigger: a start response can only register a Cancel action');
  const { params } = answer;
  if (!isObject(params)) throw new Fault('params: must be an object');
  const maxTries = readCount(answer, 'max_tries', 100);
  const abandonAfterSecs = readCount(answer, 'abandon_after_secs', 30 * 86_400);
  return {
    trigger: 'cancel',
    params: readParams(params, refuseUrl),
    ...(maxTries === undefined ? {} : { max_tries: maxTries }),
    ...(abandonAfterSecs === undefined ? {} : { abandon_after_secs: abandonAfterSecs }),
  };
}

function readParams(params: Fields, refuseUrl: (url: string) => string | null): WebhookParams {
  const { url, body } = params;
  if (typeof url !== 'string') throw new Fault('params.url: must be a string');
  const refusal = refuseUrl(url);
  if (refusal !== null) throw new Fault(`params.url: ${refusal}`);
  const verb = VERBS.find((known) => known === params['verb']);
  if (verb === undefined) throw new Fault(`params.verb: must be one of ${VERBS.join(', ')}`);
  const headers = readHeaders(params['headers']);
  return {
    url,
    verb,
    ...(body === undefined || body === null ? {} : { body: body as JsonValue }),
    ...(headers === undefined ? {} : { headers }),
  };
}

function readHeaders(value: unknown): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw new Fault('params.headers: must be an object of strings');
  const entries = Object.entries(value);
  if (entries.length > HEADERS_MAX) throw new Fault(`params.headers: must have at most ${HEADERS_MAX} headers`);
  for (const [name, text] of entries) {
    if (typeof text !== 'string') throw new Fault(`params.headers.${name}: must be a string`);
    const fault = validateWebhookHeader(name, text);
    if (fault !== null) throw new Fault(`params.headers.${name}: ${fault}`);
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

function readCount(answer: Fields, name: string, max: number): number | undefined {
  const value = answer[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new Fault(`${name}: must be a whole number between 1 and ${max}`);
}
