import type { JsonObject, JsonValue } from '../json.ts';

/** In an input or a header: the value of the secret of this name. */
export interface SecretReference {
  secret: string;
}

export const SECRET_NAME = '^[A-Z][A-Z0-9_]{0,99}$';
const NAME = new RegExp(SECRET_NAME);

/** Returns the name of `{"secret": "NAME"}`; null for any other value. */
export function secretNameOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'secret')) return null;
  const { secret } = value as { secret?: unknown };
  return typeof secret === 'string' && NAME.test(secret) && Object.keys(value).length === 1 ? secret : null;
}

/** Returns the names of all secrets that a value refers to, each as often as it does. */
export function secretNamesIn(value: JsonValue, found: string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return found;
  const name = secretNameOf(value);
  if (name !== null) {
    found.push(name);
    return found;
  }
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof member === 'object' && member !== null) secretNamesIn(member, found);
  }
  return found;
}

/** Returns a copy with every reference replaced by the value of its secret. */
export function replaceSecrets(input: JsonObject, values: ReadonlyMap<string, string>): JsonObject {
  return replaced(input, values) as JsonObject;
}

function replaced(value: JsonValue, values: ReadonlyMap<string, string>): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  const name = secretNameOf(value);
  if (name !== null) return values.get(name) ?? value;
  if (Array.isArray(value)) return value.map((each) => replaced(each, values));
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replaced(member, values)]));
}
