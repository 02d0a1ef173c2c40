import type { JsonValue } from '../domain/json.ts';
import { timestampText } from './environment.ts';

/** Levels of objects and arrays that a value may have, as everywhere in Heddle. */
const DEPTH_MAX = 64;
/** Characters, about, that the JSON text of an expression's value may have. */
export const RESULT_CHARS_MAX = 1_048_576;

const admitted = new WeakMap<object, unknown>();

/**
 * A value as expressions take it. JSON values are taken as they are; only objects with a member named `constructor`,
 * which the language's library would mistake for a class, become Maps.
 */
export function admit(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const known = admitted.get(value);
  if (known !== undefined) return known;
  const inside = holdsConstructor(value) ? replaced(value) : value;
  admitted.set(value, inside);
  return inside;
}

function holdsConstructor(value: object): boolean {
  const pending: object[] = [value];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (Object.hasOwn(next, 'constructor')) return true;
    for (const inner of Object.values(next) as unknown[]) {
      if (typeof inner === 'object' && inner !== null) pending.push(inner);
    }
  }
  return false;
}

function replaced(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(replaced);
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => [name, replaced(inner)]);
  return Object.hasOwn(value, 'constructor') ? new Map(entries) : Object.fromEntries(entries);
}

/**
 * The value of an expression as JSON: ints become numbers, timestamps RFC 3339, durations seconds (`90s`), bytes base64.
 * @throws Error where it is no JSON value, nested too deeply, or larger than 1 MiB
 */
export function toJson(value: unknown): JsonValue {
  let chars = 0;
  const grow = (by: number): void => {
    chars += by;
    if (chars > RESULT_CHARS_MAX) throw new Error(`its value is larger than ${RESULT_CHARS_MAX} bytes as JSON`);
  };
  const convert = (inner: unknown, depth: number): JsonValue => {
    if (depth > DEPTH_MAX) throw new Error(`its value is nested deeper than ${DEPTH_MAX} levels`);
    if (typeof inner !== 'object' || inner === null) {
      const scalar = scalarToJson(inner);
      grow(typeof scalar === 'string' ? scalar.length + 3 : 6);
      return scalar;
    }
    grow(2);
    if (Array.isArray(inner)) return inner.map((element) => convert(element, depth + 1));
    if (inner instanceof Map || isPlain(inner)) {
      const members = inner instanceof Map ? inner.entries() : Object.entries(inner);
      const pairs: [string, JsonValue][] = [];
      for (const [name, member] of members) {
        const key = storable(String(name));
        if (key === '__proto__') continue;
        grow(key.length + 4);
        pairs.push([key, convert(member, depth + 1)]);
      }
      return Object.fromEntries(pairs);
    }
    const text = objectToJson(inner);
    grow(typeof text === 'string' ? text.length : 1);
    return text;
  };
  return convert(value, 0);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function scalarToJson(value: unknown): JsonValue {
  switch (typeof value) {
    case 'bigint':
      return safeNumber(Number(value));
    case 'number':
      if (!Number.isFinite(value)) throw new Error(`its value holds ${value}, which JSON has no number for`);
      return safeNumber(value);
    case 'string':
      return storable(value);
    case 'boolean':
      return value;
    case 'object':
    case 'undefined':
    case 'function':
    case 'symbol':
      if (value === null) return null;
      throw new Error('its value is no JSON value');
  }
}

/** As a database takes it. */
function storable(text: string): string {
  return text.isWellFormed() && !text.includes('\0') ? text : text.toWellFormed().replaceAll('\0', '\uFFFD');
}

function safeNumber(value: number): number {
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  throw new Error('its value holds a number beyond ±9007199254740991, which would lose digits; make it a string()');
}

function objectToJson(value: object): JsonValue {
  if (value instanceof Date) return timestampText(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  switch (Object.prototype.toString.call(value)) {
    case '[object google.protobuf.Duration]':
      return (value as { toString(): string }).toString();
    case '[object optional]':
      throw new Error('its value may be missing; end it with .orValue(…)');
    default:
      if (/^\[object value = \d+\]$/.test(Object.prototype.toString.call(value))) return safeNumber(Number(value));
      throw new Error('its value is a type; only values can be results');
  }
}
