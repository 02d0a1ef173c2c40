import type { Answer } from '@heddle/base/outbound/send';
import type { Verdict } from '@heddle/base/vocabulary/verdict';
import type { AnswerCondition, HttpVerification } from '../detect/rules/verification-spec.ts';

/** What an answer says of a secret. */
export interface Judged {
  verdict: Verdict;
  reason: string;
  identity: string | null;
  permissions: string[];
}

const IDENTITY_CHARACTERS_MAX = 200;
const PERMISSION_CHARACTERS_MAX = 100;
const PERMISSIONS_MAX = 50;
const MASK = '***';

/** The question of an answer. */
export interface Asked {
  host: string;
  /** Values that must not leave in identity or permissions. */
  secrets: readonly string[];
}

/** Judges an answer by the description. */
export function judgeAnswer(spec: HttpVerification, answer: Answer, { host, secrets }: Asked): Judged {
  const { provider } = spec;
  const { status } = answer;
  const body = once(() => parsed(answer.text));
  const holds = (condition: AnswerCondition): boolean => isMet(condition, answer, body);
  if (spec.active.some(holds)) {
    const clean = (text: string, max: number): string => cleaned(text, secrets, max);
    return {
      verdict: 'active',
      reason: `${provider} accepted it at ${host} (HTTP ${status})`,
      identity: identityOf(spec, answer, body, clean),
      permissions: permissionsOf(spec, answer, body, clean),
    };
  }
  const none = { identity: null, permissions: [] };
  if (spec.inactive.some(holds))
    return {
      verdict: 'inactive',
      reason: `${provider} rejected it${pairOf(spec)} at ${host} (HTTP ${status})`,
      ...none,
    };
  return { verdict: 'unknown', reason: `${provider} ${unexpected(answer)}`, ...none };
}

/** What was found near a secret may belong to another one. */
function pairOf({ companions }: HttpVerification): string {
  const names = companions.filter(({ of, optional }) => of === 'nearby' && !optional).map(({ name }) => name);
  return names.length === 0 ? '' : ` with the ${names.join(' and ').replaceAll('_', ' ')} near it`;
}

function unexpected({ status, cut }: Answer): string {
  if (status === 429) return 'limits requests (HTTP 429); verify it again later';
  if (status >= 500) return `failed (HTTP ${status}); verify it again later`;
  if (status >= 300 && status < 400) return `redirected the request (HTTP ${status}), which is not followed`;
  if (cut !== null) return `sent an answer that could not be read to its end (HTTP ${status})`;
  return `sent an answer that says neither that it is active nor that it is not (HTTP ${status})`;
}

function isMet(
  { status, pointer, equals, exists, text }: AnswerCondition,
  answer: Answer,
  body: () => unknown,
): boolean {
  if (status !== undefined && !status.includes(answer.status)) return false;
  if (text !== undefined && !text.some((each) => answer.text.includes(each))) return false;
  if (pointer === undefined) return true;
  const value = valueAt(body(), pointer);
  if (exists !== undefined && (value !== undefined && value !== null) !== exists) return false;
  return equals === undefined || equals.some((each) => each === value);
}

function identityOf(
  spec: HttpVerification,
  answer: Answer,
  body: () => unknown,
  clean: (text: string, max: number) => string,
): string | null {
  for (const location of spec.identity) {
    const value = located(location, answer, body);
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    const text = clean(String(value), IDENTITY_CHARACTERS_MAX);
    if (text !== '') return text;
  }
  return null;
}

function permissionsOf(
  spec: HttpVerification,
  answer: Answer,
  body: () => unknown,
  clean: (text: string, max: number) => string,
): string[] {
  const all = spec.permissions.flatMap((location) => wordsOf(located(location, answer, body)));
  const words = all.map((word) => clean(word, PERMISSION_CHARACTERS_MAX)).filter((word) => word !== '');
  return [...new Set(words)].slice(0, PERMISSIONS_MAX);
}

/** Reads a list of words, words in a string, or the names whose values are true or words: `contents:read`. */
function wordsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split(/[\s,]+/);
  if (Array.isArray(value)) return value.filter((each) => typeof each === 'string');
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    if (each === true) return [name];
    return typeof each === 'string' ? [`${name}:${each}`] : [];
  });
}

function located(location: string, answer: Answer, body: () => unknown): unknown {
  if (!location.startsWith('header:')) return valueAt(body(), location);
  const value = answer.headers[location.slice('header:'.length)];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Returns the value at a JSON pointer (RFC 6901); undefined if there is none. */
function valueAt(body: unknown, pointer: string): unknown {
  let value = body;
  for (const part of pointer.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Makes text from a provider safe to store and show, without the secret that it may repeat. */
function cleaned(text: string, secrets: readonly string[], max: number): string {
  let clean = text;
  for (const secret of secrets) if (secret.length > 3) clean = clean.replaceAll(secret, MASK);
  return clean
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .toWellFormed()
    .trim()
    .slice(0, max);
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
