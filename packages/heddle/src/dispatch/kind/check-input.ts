import type { JsonObject } from '@heddle/base/json';
import type { SchemaIssue, SchemaResult, StandardSchema } from '@heddle/base/standard-schema';

/** Faults that a reason names; further ones are counted. */
const FAULTS_SHOWN = 10;

export type CheckedInput = { value: unknown; fault?: undefined } | { fault: string };

/** An input as parsed by the schema, or one sentence that names the invalid fields. */
export function checkInput(schema: StandardSchema | null, input: JsonObject): CheckedInput | Promise<CheckedInput> {
  if (schema === null) return { value: input };
  const result = schema['~standard'].validate(input);
  return result instanceof Promise ? result.then(read) : read(result);
}

/** Returns the faults of an input, each with its path from `input`. */
export async function inputFaults(schema: StandardSchema, input: JsonObject): Promise<string[]> {
  return ((await schema['~standard'].validate(input)).issues ?? []).slice(0, FAULTS_SHOWN).map(faultOf);
}

function read(result: SchemaResult<unknown>): CheckedInput {
  if (result.issues === undefined) return { value: result.value };
  const faults = result.issues.slice(0, FAULTS_SHOWN).map(faultOf);
  const more = result.issues.length - faults.length;
  if (more > 0) faults.push(`and ${more} more`);
  return { fault: `the input is invalid: ${faults.join('; ')}` };
}

function faultOf({ path, message }: SchemaIssue): string {
  let place = 'input';
  for (const segment of path ?? []) {
    const key = typeof segment === 'object' ? segment.key : segment;
    place += typeof key === 'number' ? `[${key}]` : `.${String(key)}`;
  }
  return `${place}: ${message}`;
}
