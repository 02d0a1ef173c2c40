const REDACTED = '[redacted]';

/** Names of fields whose values never leave the process: the whole name, or its last word (`access_token`). */
const SECRET_NAME =
  /(^|[_-])(authorization|cookie|password|passwd|secret|signature|token|credentials?|(api|access|private|signing|secret|handle|webhook)[_-]?keys?)$/i;

/** The same in camelCase: `webhookSecret`, `signingKeys`. */
const SECRET_CAMEL_NAME =
  /[a-z](Authorization|Cookie|Password|Secret|Signature|Token|Credentials?|(Api|Access|Private|Signing|Secret)Keys?)$/;

/** Deeper values are cut off: a log line is no place for a document, and cycles end here. */
const DEPTH_MAX = 6;

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || SECRET_CAMEL_NAME.test(name);
}

function isPresent(value: unknown): boolean {
  return value !== null && value !== undefined;
}

/** A copy of log fields with the values of secret names replaced and errors made plain. */
export function redactFields(fields: object): Record<string, unknown> {
  if (fields instanceof Error) return { err: redactValue(fields, 0) };
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    copy[name] = isSecretName(name) && isPresent(value) ? REDACTED : redactValue(value, 0);
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
    copy[name] = isSecretName(name) && isPresent(value) ? REDACTED : redactValue(value, depth + 1);
  }
  return copy;
}

/** Type, message, stack, code, cause and what else the error carries; a database's or an HTTP client's says a lot there. */
function plainError(error: Error, depth: number): Record<string, unknown> {
  const plain: Record<string, unknown> = { type: error.name, message: error.message, stack: error.stack };
  for (const [name, value] of Object.entries(error)) {
    if (name === 'name' || value === undefined) continue;
    plain[name] = isSecretName(name) ? REDACTED : redactValue(value, depth + 1);
  }
  if (error.cause !== undefined) plain['cause'] = redactValue(error.cause, depth + 1);
  if (error instanceof AggregateError) plain['errors'] = redactValue(error.errors, depth + 1);
  return plain;
}

// User and password of a URL end at the last `@` before the path, so a password with an unescaped `@` is covered.
const USERINFO = /(:\/\/)[^\s/?#"'\\]*@/gi;
const SECRET_PARAMETER = /([?&](?:signature|token|access_token|api_key|key|password|secret)=)[^&\s"'\\#]+/gi;
const CREDENTIALS = /\b(Bearer)\s+[\w.~+/=-]{8,}/gi;
const WEBHOOK_SECRET = /\bwhsec_[\w+/=-]+/g;

/** Replaces secrets that stand inside text: userinfo and signatures of URLs, bearer tokens, webhook secrets. */
export function redactText(text: string): string {
  return text
    .replace(USERINFO, `$1${REDACTED}@`)
    .replace(SECRET_PARAMETER, `$1${REDACTED}`)
    .replace(CREDENTIALS, `$1 ${REDACTED}`)
    .replace(WEBHOOK_SECRET, REDACTED);
}
