import { Errors } from 'typebox/schema';
import { Settings } from 'typebox/system';
import type { Fault, JsonPath } from './json-path.ts';
import { isBelow } from './json-path.ts';
import { isSchema, memberOf } from './schema-walk.ts';
import type { Schema } from './schema-walk.ts';

const FAULTS_MAX = 50;
// Each fault of a choice may be several errors.
Settings.Set({ maxErrors: 500 });

interface SchemaError {
  keyword: string;
  schemaPath: string;
  instancePath: string;
  params: Readonly<Record<string, unknown>>;
  message: string;
}

/** What a schema finds wrong with a document: with the library of the server, so that both judge alike. */
export function schemaFaults(schema: Schema, document: unknown): Fault[] {
  const deferred: JsonPath[] = [];
  const known = withoutDeferred(document, [], deferred);
  const faults = oneBranchEach(errorsOf(schema, known))
    .flatMap((error) => faultsOf(error, known))
    .filter(({ path }) => !deferred.some((each) => isBelow(path, each)));
  const distinct = new Map(faults.map((fault) => [JSON.stringify([fault.path, fault.message]), fault]));
  return [...distinct.values()].slice(0, FAULTS_MAX);
}

/** The errors of a document; what follows from a condition is judged by itself, since the library only says that it fails. */
function errorsOf(schema: Schema, document: unknown): SchemaError[] {
  const [, errors] = Errors(schema, document) as unknown as [boolean, SchemaError[]];
  return errors.flatMap((error) => {
    if (error.keyword !== 'if' || error.params['failingKeyword'] !== 'then') return [error];
    const consequence = schemaAt(schema, `${error.schemaPath}/then`);
    if (consequence === null) return [error];
    const nested = errorsOf({ ...consequence, $defs: schema['$defs'] ?? {} }, valueAt(document, error.instancePath));
    return nested.map((each) => ({
      ...each,
      schemaPath: `${error.schemaPath}/then${each.schemaPath.slice(1)}`,
      instancePath: error.instancePath + each.instancePath,
    }));
  });
}

/** The schema that an error names; references are followed on the way. */
function schemaAt(root: Schema, pointer: string): Schema | null {
  let at: unknown = root;
  for (const step of stepsOf(pointer)) {
    while (isSchema(at) && !Object.hasOwn(at, step) && typeof at['$ref'] === 'string') {
      at = stepsOf(at['$ref']).reduce<unknown>(memberOf, root);
    }
    at = memberOf(at, step);
  }
  return isSchema(at) ? at : null;
}

function valueAt(document: unknown, pointer: string): unknown {
  return stepsOf(pointer).reduce(memberOf, document);
}

/** The steps of a JSON Pointer. */
function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * Replaces secrets by a text, as the worker receives one, and notes expressions: what their value will be is not known.
 */
function withoutDeferred(value: unknown, path: JsonPath, deferred: JsonPath[]): unknown {
  if (Array.isArray(value)) return value.map((each, index) => withoutDeferred(each, [...path, index], deferred));
  if (!isSchema(value)) return value;
  if (Object.hasOwn(value, '$expr')) {
    deferred.push(path);
    return value;
  }
  if (Object.keys(value).length === 1 && typeof value['secret'] === 'string') return value['secret'];
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withoutDeferred(each, [...path, name], deferred)]),
  );
}

const BRANCH = /^(.*\/(?:anyOf|oneOf))\/(\d+)(?:\/|$)/;

/** Of alternatives that all fail, only the one that fails least is worth reading about. */
function oneBranchEach(errors: readonly SchemaError[]): SchemaError[] {
  const branches = new Map<string, Map<string, SchemaError[]>>();
  const kept: SchemaError[] = [];
  for (const error of errors) {
    const [, choice, branch] = BRANCH.exec(error.schemaPath) ?? [];
    if (choice === undefined) {
      if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') kept.push(error);
      continue;
    }
    const key = `${choice} ${error.instancePath.split('/').slice(0, depthOf(choice)).join('/')}`;
    const of = branches.get(key) ?? new Map<string, SchemaError[]>();
    of.set(branch!, [...(of.get(branch!) ?? []), error]);
    branches.set(key, of);
  }
  for (const of of branches.values()) {
    const [best = []] = [...of.values()].sort((a, b) => a.length - b.length);
    kept.push(...best);
  }
  return kept;
}

function depthOf(schemaPath: string): number {
  return 1 + (schemaPath.match(/\/(properties|items|additionalProperties)(?=\/)/g)?.length ?? 0);
}

function faultsOf({ keyword, instancePath, params, message }: SchemaError, document: unknown): Fault[] {
  const path = pathOfPointer(instancePath, document);
  switch (keyword) {
    case 'required':
      return textsOf(params['requiredProperties']).map((name) => ({ path: [...path, name], message: 'is required' }));
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return textsOf(params['additionalProperties'] ?? params['unevaluatedProperties']).map((name) => ({
        path: [...path, name],
        message: 'is not a known member',
      }));
    case 'enum':
      return [{ path, message: `must be one of ${(params['allowedValues'] as unknown[]).map(shown).join(', ')}` }];
    // What lies behind these is reported by itself.
    case 'boolean':
    case 'if':
      return [];
    default:
      return [{ path, message }];
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

function shown(value: unknown): string {
  return JSON.stringify(value);
}

function pathOfPointer(pointer: string, document: unknown): JsonPath {
  let at = document;
  return stepsOf(pointer).map((step) => {
    const key = Array.isArray(at) ? Number(step) : step;
    at = memberOf(at, key);
    return key;
  });
}
