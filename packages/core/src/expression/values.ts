import type { JsonValue } from '@heddle/base/json';
import { timestampText } from './environment.ts';

/** Maximum nesting of a value, as everywhere in Heddle. */
const DEPTH_MAX = 64;
/** Approximate maximum size of an expression's value as JSON, characters. */
const RESULT_CHARS_MAX = 1_048_576;

/** Values that one step visits, and characters of a result that one step writes. */
const VALUES_PER_STEP = 2;
const CHARS_PER_STEP = 16;

const admitted = new WeakMap<object, unknown>();

/**
 * Converts a value for expressions. JSON values are used as they are; only objects with a member named `constructor`,
 * which the library would mistake for a class, become Maps. Shared members are visited once, however many values hold
 * them.
 *
 * @param spend receives the steps taken
 */
export function admit(value: unknown, spend: (steps: number) => void): unknown {
  if (!isContainer(value)) return value;
  if (Array.isArray(value) || Object.hasOwn(value, 'constructor')) return admitWhole(value, spend);
  const admitMember = (member: unknown): unknown => (isContainer(member) ? admitWhole(member, spend) : member);
  const members = Object.entries(value) as [string, unknown][];
  const same = members.every(([, member]) => admitMember(member) === member);
  return same ? value : Object.fromEntries(members.map(([name, member]) => [name, admitMember(member)]));
}

function admitWhole(value: object, spend: (steps: number) => void): unknown {
  const known = admitted.get(value);
  if (known !== undefined) return known;
  const inside = holdsConstructor(value, spend) ? replaced(value) : value;
  admitted.set(value, inside);
  return inside;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}

function holdsConstructor(value: object, spend: (steps: number) => void): boolean {
  const pending: object[] = [value];
  let seen = 0;
  let found = false;
  for (let next = pending.pop(); next !== undefined && !found; next = pending.pop()) {
    found = Object.hasOwn(next, 'constructor');
    for (const inner of Object.values(next) as unknown[]) {
      seen += 1;
      if (typeof inner === 'object' && inner !== null) pending.push(inner);
    }
  }
  spend(seen / VALUES_PER_STEP);
  return found;
}

function replaced(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(replaced);
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => [name, replaced(inner)]);
  return Object.hasOwn(value, 'constructor') ? new Map(entries) : Object.fromEntries(entries);
}

/**
 * Converts the value of an expression to JSON: ints become numbers, timestamps RFC 3339, durations seconds (`90s`),
 * bytes base64.
 * @param spend receives the steps taken
 * @throws Error if it is not a JSON value, nested too deeply, or larger than 1 MiB
 */
export function toJson(value: unknown, spend: (steps: number) => void): JsonValue {
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
  try {
    return convert(value, 0);
  } finally {
    spend(chars / CHARS_PER_STEP);
  }
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
      if (!Number.isFinite(value)) throw new Error(`its value holds ${value}, which JSON cannot represent`);
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
      throw new Error('its value is not a JSON value');
  }
}

/** Formats it like a database does. */
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
