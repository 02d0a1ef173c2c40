import { secretNameOf } from './vocabulary/secret-reference.ts';
import { isSecretField, isSecretParameter } from './secret-names.ts';

/** Stands for a secret that is not shown. */
export const REDACTED = '[redacted]';

/** Deeper values are cut off, which also ends cycles. */
const DEPTH_MAX = 6;

function isPresent(value: unknown): boolean {
  return value !== null && value !== undefined;
}

/** Returns a copy of log fields with the values of secret names replaced and errors made plain. */
export function redactFields(fields: object): Record<string, unknown> {
  if (fields instanceof Error) return { err: redactValue(fields, 0) };
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    copy[name] = isSecretField(name) && isPresent(value) ? REDACTED : redactValue(value, 0);
  }
  return copy;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) return '[cut]';
  if (value instanceof Error) return plainError(value, depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1));
  if (value instanceof Map) return redactEntries(value as Map<unknown, unknown>, depth);
  if (value instanceof Set) return [...(value as Set<unknown>)].map((item) => redactValue(item, depth + 1));
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return value;
  return redactEntries(Object.entries(value), depth);
}

function redactEntries(entries: Iterable<[unknown, unknown]>, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    const name = String(key);
    copy[name] = isSecretField(name) && isPresent(value) ? REDACTED : redactValue(value, depth + 1);
  }
  return copy;
}

/** Converts an error: type, message, stack, code, cause and its other fields, such as those of a database error. */
function plainError(error: Error, depth: number): Record<string, unknown> {
  const plain: Record<string, unknown> = { type: error.name, message: error.message, stack: error.stack };
  for (const [name, value] of Object.entries(error)) {
    if (name === 'name' || value === undefined) continue;
    plain[name] = isSecretField(name) ? REDACTED : redactValue(value, depth + 1);
  }
  if (error.cause !== undefined) plain['cause'] = redactValue(error.cause, depth + 1);
  if (error instanceof AggregateError) plain['errors'] = redactValue(error.errors, depth + 1);
  return plain;
}

// Userinfo of a URL ends at the last `@` before the path, so that a password with an unescaped `@` is covered.
const USERINFO = /(:\/\/)[^\s/?#"'\\]*@/gi;
/** Maximum length of a name; keeps scanning long strings cheap. */
const PARAMETER = /([?&#;])([\w.~%+-]{1,64})=([^&\s"'\\#;]+)/g;
const CREDENTIALS = /\b(Bearer)\s+[\w.~+/=-]{8,}/gi;
const WEBHOOK_SECRET = /\bwhsec_[\w+/=-]+/g;

/** Replaces secrets inside strings: userinfo and signatures of URLs, bearer tokens, webhook secrets. */
export function redactText(text: string): string {
  return text
    .replace(USERINFO, `$1${REDACTED}@`)
    .replace(PARAMETER, redactParameter)
    .replace(CREDENTIALS, `$1 ${REDACTED}`)
    .replace(WEBHOOK_SECRET, REDACTED);
}

function redactParameter(parameter: string, separator: string, name: string): string {
  return isSecretParameter(decoded(name)) ? `${separator}${name}=${REDACTED}` : parameter;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Returns user-defined request headers with the values of secret names replaced. */
export function redactHeaders<T>(headers: Readonly<Record<string, T>>): Record<string, T | typeof REDACTED> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      return [name, isSecretParameter(name) && secretNameOf(value) === null ? REDACTED : value];
    }),
  );
}

/** The path of a Slack webhook is its secret. */
export function withoutPath(url: string): string {
  return `${URL.parse(url)?.origin ?? ''}/${REDACTED}`;
}

/** Returns a copy of user data with secrets of its requests replaced: in any `headers`, any `url`, any `slack.url`. */
export function redactRequests(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactRequests);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => {
      if (name === 'url' && typeof member === 'string') return [name, redactText(member)];
      if (name === 'slack' && isRecord(member) && typeof member['url'] === 'string')
        return [name, { ...member, url: withoutPath(member['url']) }];
      if (name === 'headers' && isRecord(member)) return [name, redactHeaders(member)];
      return [name, redactRequests(member)];
    }),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
