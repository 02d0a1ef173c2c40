import { HeddleError } from '@heddle/base/errors';
import type { JsonObject } from '@heddle/base/json';
import { Faults, isObject, shown } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import { placeOf, quoted } from '@heddle/base/parse/path';
import { nameRemedy } from '@heddle/base/suggest';
import { readMemoryMib } from './memory.ts';
import { CPU_MAX, PATTERNS_MAX, patternsOf, RUNNERS_MAX, type Demand } from '@heddle/base/vocabulary/requirements';
import { USAGE_CLASSES, type ResourceClass } from '@heddle/base/vocabulary/resource-class';

const DEMAND_MEMBERS = [
  'resource_class',
  'usage_class',
  'allowed_instance_types',
  'cpu',
  'memory_mib',
  'memory',
  'count',
] as const satisfies readonly (keyof Demand | 'memory')[];

const CLASS_CHARS_MAX = 64;
const PATTERN_CHARS_MAX = 64;
const PATTERN = /^[a-z0-9.*_-]+$/i;

/** Classes that requirements may name; null if they are not known, in which case any name is accepted. */
export type KnownClasses = readonly ResourceClass[] | null;

/**
 * Parses the runners that a client asks for: `{ resource_class, usage_class?, allowed_instance_types?, cpu?, memory? or
 * memory_mib?, count? }`.
 *
 * @param name name of the value in faults
 * @throws HeddleError VALIDATION_FAILED with one detail per fault
 */
export function parseDemand(value: unknown, classes: KnownClasses, name = 'requirements'): Demand {
  const faults = new Faults();
  const demand = readDemand(value, faults, classes, name);
  if (demand === null || faults.list.length > 0) {
    throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults.list });
  }
  return demand;
}

/** Reads the member `requirements` of a task; null if it is absent or not an object. */
export function readRequirements(task: Members, classes: KnownClasses): Demand | null {
  const value = task.raw('requirements');
  if (value === undefined || value === null) return null;
  if (!isObject(value)) {
    task.fault('requirements', `must be an object, not ${shown(value)}`);
    return null;
  }
  return demandOf(new Members(value, task.at('requirements'), task.faults), classes);
}

/** Encodes a demand as JSON; the inverse of `parseDemand`. */
export function encodeDemand(demand: Demand): JsonObject {
  return {
    resource_class: demand.resource_class,
    usage_class: demand.usage_class,
    allowed_instance_types: [...demand.allowed_instance_types],
    cpu: demand.cpu,
    memory_mib: demand.memory_mib,
    count: demand.count,
  };
}

function readDemand(value: unknown, faults: Faults, classes: KnownClasses, name: string): Demand | null {
  const place = { above: null, step: name };
  if (isObject(value)) return demandOf(new Members(value, place, faults), classes);
  faults.add(place, `must be an object with at least resource_class, not ${shown(value)}`);
  return null;
}

function demandOf(members: Members, classes: KnownClasses): Demand {
  members.refuseOthers(DEMAND_MEMBERS);
  members.requireAll('resource_class');
  const name = members.text('resource_class', CLASS_CHARS_MAX);
  const resourceClass = name === null || classes === null ? undefined : classOf(name, classes, members);
  const cpu = members.integer('cpu', 1, CPU_MAX);
  if (cpu !== null && resourceClass !== undefined && cpu > resourceClass.cpu) {
    const has = `runners of the class ${resourceClass.name} have ${resourceClass.cpu}`;
    members.fault('cpu', `must be at most ${resourceClass.cpu}, not ${cpu}: ${has}; name a larger class`);
  }
  return {
    resource_class: name ?? '',
    usage_class: members.oneOf('usage_class', USAGE_CLASSES) ?? 'on-demand',
    allowed_instance_types: patterns(members),
    cpu,
    memory_mib: readMemoryMib(members),
    count: members.integer('count', 1, RUNNERS_MAX) ?? 1,
  };
}

function classOf(name: string, classes: readonly ResourceClass[], members: Members): ResourceClass | undefined {
  const found = classes.find((known) => known.name === name);
  if (found !== undefined) return found;
  const names = classes.map((known) => known.name);
  const known = names.length === 0 ? '; the pool has no classes' : `; known classes: ${names.join(', ')}`;
  // The list of names comes first, then the suggestion.
  const near = nameRemedy(name, names);
  const remedy = near.startsWith('; did you mean') ? `${known}${near}` : known;
  members.fault('resource_class', `must be a class of the pool, not ${quoted(name, CLASS_CHARS_MAX)}${remedy}`);
  return undefined;
}

function patterns(members: Members): string[] {
  const value = members.raw('allowed_instance_types');
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > PATTERNS_MAX) {
    const given = Array.isArray(value) ? `an array of ${value.length}` : shown(value);
    members.fault('allowed_instance_types', `must be an array of at most ${PATTERNS_MAX} patterns, not ${given}`);
    return [];
  }
  const at = members.at('allowed_instance_types');
  const valid = value.filter((pattern: unknown, index): pattern is string => {
    const isValid = typeof pattern === 'string' && pattern.length <= PATTERN_CHARS_MAX && PATTERN.test(pattern);
    if (!isValid) members.faults.add(placeOf(at, index), patternFault(pattern));
    return isValid;
  });
  return patternsOf(valid);
}

function patternFault(pattern: unknown): string {
  const form = `1 to ${PATTERN_CHARS_MAX} letters, digits, ".", "-", "_" and the wildcard "*"`;
  return `must be a pattern of instance types such as "m7i.*", of ${form}; not ${shown(pattern)}`;
}
