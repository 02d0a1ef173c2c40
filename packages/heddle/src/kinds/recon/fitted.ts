import type { JsonObject, JsonValue } from '@heddle/base/json';
import { MODEL_DATA_BYTES_MAX } from '@heddle/core/domain/model-record';

/** Maximum elements of a model's list. */
export const LIST_MAX = 1000;

/** Returns distinct strings in code unit order. */
export function sorted(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort().slice(0, LIST_MAX);
}

/** Fits the data of a model to its limit by halving the longest list or string until it does. */
export function fitted(data: JsonObject): JsonObject {
  let fitting = data;
  for (;;) {
    const text = JSON.stringify(fitting);
    if (Buffer.byteLength(text) <= MODEL_DATA_BYTES_MAX) return fitting;
    const [name, value] = Object.entries(fitting).reduce((longest, each) =>
      JSON.stringify(each[1]).length > JSON.stringify(longest[1]).length ? each : longest,
    );
    fitting = { ...fitting, [name]: halved(value) };
  }
}

function halved(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.length > 1 ? value.slice(0, value.length >> 1) : null;
  return typeof value === 'string' && value.length > 1 ? value.slice(0, value.length >> 1).toWellFormed() : null;
}

/** Drops null and undefined members, so that absence has one form. */
export function present(members: Record<string, JsonValue | undefined>): JsonObject {
  const kept = Object.entries(members).filter((each): each is [string, JsonValue] => (each[1] ?? null) !== null);
  return Object.fromEntries(kept);
}
