import type { JsonObject, JsonValue } from '../json.ts';
import { isObject, shown } from './faults.ts';
import type { Faults } from './faults.ts';
import { placeOf } from './path.ts';
import type { Place } from './path.ts';

/** Levels of objects and arrays that a value of the user's may have. */
export const VALUE_DEPTH_MAX = 64;
/** Bytes that the input of a task may have as JSON. */
export const INPUT_BYTES_MAX = 65_536;
/** Bytes that it may have as JSON once its expressions have their values. */
export const RESOLVED_INPUT_BYTES_MAX = 1_048_576;
/** No character of JSON text takes more bytes than this. */
const BYTES_PER_CODE_UNIT = 3;

/** Whether PostgreSQL can keep the text: no NUL, no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** A task's input as it will be stored; an empty object where there is none, or where it is not fit to be one. */
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

/** Any JSON value; null, with a fault, where it holds what JSON, JavaScript or the database does not keep. */
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

/** Whether a value needs a closer look: most are short, sound scalars. */
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
