import { Check } from 'typebox/schema';
import type { JsonPath } from './json-path.ts';

/** A JSON Schema; members that are not used here are kept. */
export interface Schema {
  readonly [keyword: string]: unknown;
}

const NESTED_MAX = 40;

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns all schemas that hold for the value at a path, as far as the document is written. */
export function schemasAt(root: Schema, path: JsonPath, document: unknown): Schema[] {
  let schemas = branchesOf(root, document, root);
  let value = document;
  for (const step of path) {
    value = memberOf(value, step);
    schemas = schemas.flatMap((schema) => stepInto(schema, step)).flatMap((each) => branchesOf(each, value, root));
  }
  return schemas;
}

export function memberOf(value: unknown, step: string | number): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<string | number, unknown>>)[step];
}

function stepInto(schema: Schema, step: string | number): Schema[] {
  if (typeof step === 'number') {
    const prefix = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as unknown[])[step] : undefined;
    return [prefix ?? schema['items']].filter(isSchema);
  }
  const properties = schema['properties'];
  if (isSchema(properties) && Object.hasOwn(properties, step)) return [properties[step]].filter(isSchema);
  const patterns = isSchema(schema['patternProperties']) ? Object.entries(schema['patternProperties']) : [];
  const matching = patterns.filter(([pattern]) => matches(pattern, step)).map(([, each]) => each);
  return (matching.length > 0 ? matching : [schema['additionalProperties']]).filter(isSchema);
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return false;
  }
}

/** A schema with everything that it refers to or consists of; of alternatives those that the value may still become. */
function branchesOf(schema: Schema, value: unknown, root: Schema, depth = 0): Schema[] {
  if (depth > NESTED_MAX) return [];
  const into = (each: unknown): Schema[] => (isSchema(each) ? branchesOf(each, value, root, depth + 1) : []);
  const found = [schema];
  if (typeof schema['$ref'] === 'string') found.push(...into(resolve(schema['$ref'], root)));
  for (const each of listOf(schema['allOf'])) found.push(...into(each));
  for (const name of ['anyOf', 'oneOf']) {
    for (const each of listOf(schema[name])) if (mayBecome(each, value, root)) found.push(...into(each));
  }
  if (isSchema(schema['if'])) {
    const holds = Check({ ...schema['if'], $defs: root['$defs'] ?? {} }, value);
    found.push(...into(schema[holds ? 'then' : 'else']));
  }
  return found;
}

function listOf(value: unknown): Schema[] {
  return Array.isArray(value) ? value.filter(isSchema) : [];
}

/** An alternative is out of the question once a constant of it is written otherwise, or a member that it does not have. */
function mayBecome(schema: Schema, value: unknown, root: Schema): boolean {
  const resolved = typeof schema['$ref'] === 'string' ? resolve(schema['$ref'], root) : schema;
  if (!isSchema(resolved) || !isSchema(value)) return true;
  const properties = isSchema(resolved['properties']) ? resolved['properties'] : {};
  return Object.entries(value).every(([name, member]) => {
    const property = properties[name];
    if (!isSchema(property)) return resolved['additionalProperties'] !== false;
    const allowed = property['const'] === undefined ? property['enum'] : [property['const']];
    return !Array.isArray(allowed) || allowed.includes(member);
  });
}

function resolve(reference: string, root: Schema): unknown {
  if (!reference.startsWith('#')) return undefined;
  return reference
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, step) => memberOf(at, step), root);
}

export interface MemberDescription {
  schema: Schema;
  required: boolean;
}

/** The members that an object may have, with what describes each best. */
export function membersOf(schemas: readonly Schema[]): Map<string, MemberDescription> {
  const found = new Map<string, MemberDescription>();
  for (const schema of schemas) {
    const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
    for (const [name, member] of Object.entries(isSchema(schema['properties']) ? schema['properties'] : {})) {
      const known = found.get(name);
      const isBetter = known === undefined || Object.keys(known.schema).length === 0;
      found.set(name, {
        schema: isBetter && isSchema(member) ? member : (known?.schema ?? {}),
        required: required.includes(name) || (known?.required ?? false),
      });
    }
  }
  return found;
}

/** The values that a schema names: constants, enumerations, examples, truth values. */
export function valuesOf(schemas: readonly Schema[]): unknown[] {
  const found = new Map<string, unknown>();
  const add = (value: unknown): void => void found.set(JSON.stringify(value), value);
  for (const schema of schemas) {
    if (schema['const'] !== undefined) add(schema['const']);
    for (const name of ['enum', 'examples']) {
      const values = schema[name];
      if (Array.isArray(values)) for (const value of values as unknown[]) add(value);
    }
    if (schema['default'] !== undefined) add(schema['default']);
    if (typesOf(schema).includes('boolean')) {
      add(true);
      add(false);
    }
  }
  return [...found.values()];
}

export function typesOf(schema: Schema): string[] {
  const type = schema['type'];
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? type.filter((each) => typeof each === 'string') : [];
}
