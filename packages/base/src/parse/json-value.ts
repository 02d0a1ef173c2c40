import type { JsonObject, JsonValue } from '../json.ts';
import { isObject, shown } from './faults.ts';
import type { Faults } from './faults.ts';
import { placeOf } from './path.ts';
import type { Place } from './path.ts';

/** Maximum nesting of a user's value. */
export const VALUE_DEPTH_MAX = 64;
/** Maximum size of a task's input as JSON, bytes. */
const INPUT_BYTES_MAX = 65_536;
/** Maximum size as JSON with the values of its expressions, bytes. */
export const RESOLVED_INPUT_BYTES_MAX = 1_048_576;
/** Maximum bytes per character of JSON. */
const BYTES_PER_CODE_UNIT = 3;

/** Returns whether PostgreSQL can store the string: no NUL, no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Returns a task's input as it will be stored; an empty object if it is absent or invalid. */
export function readInput(value: unknown, place: Place, faults: Faults, bytesMax = INPUT_BYTES_MAX): JsonObject {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) {
    faults.add(place, `must be an object, not ${shown(value)}`);
    return {};
  }
  const input = readValue(value, place, faults);
  if (input === null) return {};
  const text = JSON.stringify(value);
  if (text.length * BYTES_PER_CODE_UNIT > bytesMax) {
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > bytesMax) {
      faults.add(place, `must have at most ${bytesMax} bytes as JSON, not ${bytes}; keep large data elsewhere`);
    }
  }
  return input as JsonObject;
}

interface Visit {
  value: unknown;
  place: Place;
  depth: number;
}

/** Returns any JSON value; null, with a fault, if JSON, JavaScript or the database cannot represent it. */
export function readValue(value: unknown, place: Place, faults: Faults): JsonValue {
  const before = faults.list.length;
  const pending: Visit[] = [{ value, place, depth: 1 }];
  for (let visit = pending.pop(); visit !== undefined && !faults.full; visit = pending.pop()) {
    const message = scalarFault(visit.value);
    if (message !== null) faults.add(visit.place, message);
    else if (typeof visit.value === 'object' && visit.value !== null) lookInside(visit, pending, faults);
  }
  return faults.list.length > before ? null : (value as JsonValue);
}

function lookInside({ value, place, depth }: Visit, pending: Visit[], faults: Faults): void {
  if (depth > VALUE_DEPTH_MAX) {
    faults.add(place, `is nested deeper than ${VALUE_DEPTH_MAX} levels; flatten it`);
    return;
  }
  const inside: [string | number, unknown][] = Array.isArray(value)
    ? Array.from(value, (element: unknown, index) => [index, element])
    : Object.entries(value as object);
  for (const [step, inner] of inside.reverse()) {
    const at = placeOf(place, step);
    if (step === '__proto__') faults.add(at, 'is a name that is not allowed; rename this member');
    else if (typeof step === 'string' && !isStorable(step)) faults.add(at, textFault(step));
    else if (isSuspect(inner)) pending.push({ value: inner, place: at, depth: depth + 1 });
  }
}

/** Returns whether a value needs a full check: most are short, valid scalars. */
function isSuspect(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || scalarFault(value) !== null;
}

const SAFE_RANGE = 'must lie within ±9007199254740991, or it would lose digits; send it as a string';

function scalarFault(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
      return isStorable(value) ? null : textFault(value);
    case 'number':
      return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? null : SAFE_RANGE;
    case 'boolean':
    case 'object':
      return null;
    case 'undefined':
    case 'function':
    case 'symbol':
    case 'bigint':
      return `must be a JSON value, not ${shown(value)}`;
  }
}

export function textFault(text: string): string {
  if (text.includes('\0')) return 'holds a NUL character (\\u0000), which cannot be stored; remove it';
  return 'holds half of a surrogate pair; send whole characters';
}
