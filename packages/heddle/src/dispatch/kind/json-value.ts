import type { JsonValue } from '@heddle/base/json';

/** Deeper values are not legitimate data, and the database does not parse them. */
const DEPTH_MAX = 200;
const PLACE_CHARACTERS = 60;

/** A value that JSON, or the database, cannot represent. */
class NotJsonError extends TypeError {}

/**
 * Copies a value that consists only of JSON; undefined members are omitted. Rejects by name whatever JSON would
 * silently change (dates, maps, NaN, big integers).
 * @param what names the value in errors: `result`, `input`
 * @throws NotJsonError that names the place
 */
export function toJson(value: unknown, what: string, maxBytes: number): JsonValue {
  const copy = copyOf(value, what, 0);
  const bytes = Buffer.byteLength(JSON.stringify(copy));
  if (bytes > maxBytes) throw new NotJsonError(`${what}: has ${bytes} bytes as JSON; at most ${maxBytes} are allowed`);
  return copy;
}

function copyOf(value: unknown, path: string, depth: number): JsonValue {
  if (depth > DEPTH_MAX)
    throw new NotJsonError(
      `${path.slice(0, PLACE_CHARACTERS)}…: is nested more than ${DEPTH_MAX} levels deep, or is circular`,
    );
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw new NotJsonError(`${path}: is ${value}, which JSON cannot represent`);
      return value;
    case 'string':
      requireStorable(value, path);
      return value;
    case 'object':
      if (value === null) return null;
      return Array.isArray(value) ? copyOfArray(value, path, depth) : copyOfObject(value, path, depth);
    case 'undefined':
    case 'function':
    case 'symbol':
    case 'bigint':
      throw new NotJsonError(`${path}: is ${article(typeof value)}, which JSON cannot represent`);
  }
}

function copyOfArray(items: readonly unknown[], path: string, depth: number): JsonValue[] {
  // Not `map`, which would leave holes.
  return Array.from(items, (item, index) => copyOf(item, `${path}[${index}]`, depth + 1));
}

function copyOfObject(value: object, path: string, depth: number): JsonValue {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    const name = (value as { constructor?: { name?: string } }).constructor?.name ?? 'object';
    throw new NotJsonError(
      `${path}: is ${article(name)}, which JSON cannot represent; convert it to a plain object or a string`,
    );
  }
  const copy: Record<string, JsonValue> = {};
  for (const [name, item] of Object.entries(value)) {
    if (item === undefined) continue;
    requireStorable(name, path);
    // Plain assignment would set the copy's prototype.
    if (name === '__proto__') throw new NotJsonError(`${path}: has a member named __proto__`);
    copy[name] = copyOf(item, `${path}.${name}`, depth + 1);
  }
  return copy;
}

function requireStorable(text: string, path: string): void {
  if (text.includes('\u0000') || !text.isWellFormed()) {
    throw new NotJsonError(
      `${path}: contains a NUL character or an unpaired surrogate, which the database cannot store`,
    );
  }
}

function article(name: string): string {
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`;
}
