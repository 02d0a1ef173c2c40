import type { JsonObject } from '@heddle/base/json';
import type { KindDescription } from '@heddle/base/vocabulary/kind';
import type { KindDefinition } from '@heddle/kit';

/** Larger schemas are left out: a page that completes inputs would not use them. */
const SCHEMA_BYTES_MAX = 65_536;

/** Returns what a process reports about a kind that it runs. */
export function describeKind({ name, description, schema, input_schema }: KindDefinition): KindDescription {
  const found = input_schema ?? jsonSchemaOf(schema);
  const fits = found !== null && Buffer.byteLength(JSON.stringify(found)) <= SCHEMA_BYTES_MAX;
  return { name, description, input_schema: fits ? found : null };
}

/** Returns a schema as JSON Schema, if its library can express it. */
function jsonSchemaOf(schema: KindDefinition['schema']): JsonObject | null {
  try {
    return (schema?.['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }) ?? null) as JsonObject | null;
  } catch {
    // A transformation or another part that JSON Schema cannot express.
    return null;
  }
}
