export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/**
 * The one text of a JSON value: object keys sorted at every depth, so that equal values have equal texts whatever order
 * their keys arrived in.
 */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`).join(',')}}`;
}

/** RFC 7396: `null` in the patch removes a member, objects merge, everything else replaces. */
export function mergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const base: JsonObject = target !== null && typeof target === 'object' && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete base[key];
    else
      Object.defineProperty(base, key, {
        value: mergePatch(Object.hasOwn(base, key) ? base[key]! : null, value),
        enumerable: true,
        configurable: true,
        writable: true,
      });
  }
  return base;
}
