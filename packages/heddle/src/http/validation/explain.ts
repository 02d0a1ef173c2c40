import { elementPath, memberPath, quoted } from '@heddle/base/json/path';
import { nameRemedy } from '@heddle/base/suggest';

/** The subset of JSON Schema that the wire formats use. */
export interface WireSchema {
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly WireSchema[];
  properties?: Readonly<Record<string, WireSchema>>;
  patternProperties?: Readonly<Record<string, WireSchema>>;
  required?: readonly string[];
  additionalProperties?: boolean | WireSchema;
  minProperties?: number;
  maxProperties?: number;
  items?: WireSchema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  /** The pattern's meaning in words. */
  patternMeaning?: string;
}

/** Collects faults up to a limit and then stops. */
export class FaultList {
  readonly faults: string[] = [];
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get full(): boolean {
    return this.faults.length >= this.#limit;
  }

  /** Faults that already have their paths. */
  addAll(faults: readonly string[]): void {
    this.faults.push(...faults.slice(0, this.#limit - this.faults.length));
  }

  add(path: string, message: string): void {
    if (!this.full) this.faults.push(`${path === '' ? 'body' : path}: ${message}`);
  }
}

/** Explains why a value does not match its schema, each fault with its path and, if there is one, its remedy. */
export function explainFaults(schema: WireSchema, value: unknown, path: string, into: FaultList): void {
  if (into.full) return;
  if (schema.anyOf) explainUnion(schema.anyOf, value, path, into);
  else if (schema.const !== undefined) {
    if (value !== schema.const) into.add(path, `must be ${JSON.stringify(schema.const)}, not ${shown(value)}`);
  } else if (schema.enum) explainEnum(schema.enum, value, path, into);
  else {
    switch (schema.type) {
      case 'object':
        explainObject(schema, value, path, into);
        return;
      case 'array':
        explainArray(schema, value, path, into);
        return;
      case 'string':
        explainString(schema, value, path, into);
        return;
      case 'integer':
      case 'number':
        explainNumber(schema, value, path, into);
        return;
      case 'boolean':
        if (typeof value !== 'boolean') into.add(path, `must be true or false, not ${shown(value)}`);
        return;
      case 'null':
        if (value !== null) into.add(path, `must be null, not ${shown(value)}`);
        return;
      case undefined:
      default:
        return;
    }
  }
}

function explainEnum(allowed: readonly unknown[], value: unknown, path: string, into: FaultList): void {
  if (allowed.includes(value)) return;
  const names = allowed.map(String);
  const remedy = typeof value === 'string' && names.length > 3 ? didYouMean(value, names) : '';
  into.add(path, `must be ${listed(names)}, not ${shown(value)}${remedy}`);
}

function didYouMean(given: string, known: readonly string[]): string {
  const remedy = nameRemedy(given, known);
  return remedy.startsWith('; did') ? remedy : '';
}

function explainUnion(branches: readonly WireSchema[], value: unknown, path: string, into: FaultList): void {
  const branch = chooseBranch(branches, value);
  if (branch) {
    explainFaults(branch, value, path, into);
    return;
  }
  const discriminator = discriminatorOf(branches);
  if (discriminator && isObject(value)) {
    const { property, allowed } = discriminator;
    if (!Object.hasOwn(value, property)) into.add(memberPath(path, property), `is required: ${listed(allowed)}`);
    else into.add(memberPath(path, property), `must be ${listed(allowed)}, not ${shown(value[property])}`);
    return;
  }
  into.add(path, `must be ${listed([...new Set(branches.map(kindOf))])}, not ${shown(value)}`);
}

function constantsOf(schema: WireSchema | undefined): readonly unknown[] | null {
  if (schema?.const !== undefined) return [schema.const];
  return schema?.enum ?? null;
}

/** The property whose constants distinguish the object branches. */
function discriminatorOf(branches: readonly WireSchema[]): { property: string; allowed: string[] } | null {
  for (const property of ['type', 'kind']) {
    const allowed = branches.flatMap((branch) => constantsOf(branch.properties?.[property]) ?? []);
    if (allowed.length > 0) return { property, allowed: allowed.map(String) };
  }
  return null;
}

function chooseBranch(branches: readonly WireSchema[], value: unknown): WireSchema | null {
  if (!isObject(value)) {
    const fitting = branches.filter((branch) => kindOf(branch) === kindOfValue(value));
    return fitting.length === 1 ? fitting[0]! : null;
  }
  const objects = branches.filter((branch) => branch.type === 'object');
  if (objects.length === 1) return objects[0]!;
  const referring = objects.find((branch) => branch.properties?.ref !== undefined);
  if (referring && Object.hasOwn(value, 'ref')) return referring;
  const discriminator = discriminatorOf(objects);
  if (!discriminator) return null;
  const given = value[discriminator.property];
  return objects.find((branch) => constantsOf(branch.properties?.[discriminator.property])?.includes(given)) ?? null;
}

function kindOf(schema: WireSchema): string {
  if (schema.type === 'object') return 'an object';
  if (schema.type === 'array') return 'an array';
  if (schema.type === 'string' || schema.enum || schema.const !== undefined) return 'a string';
  if (schema.type === 'number' || schema.type === 'integer') return 'a number';
  return schema.type ?? 'a value';
}

function kindOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'absent';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'boolean' ? 'boolean' : `a ${typeof value}`;
}

function explainObject(schema: WireSchema, value: unknown, path: string, into: FaultList): void {
  if (!isObject(value)) {
    into.add(path, `must be an object, not ${shown(value)}`);
    return;
  }
  const known = Object.keys(schema.properties ?? {});
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) into.add(memberPath(path, name), 'is required');
  }
  const names = Object.keys(value);
  if (schema.minProperties !== undefined && names.length < schema.minProperties) {
    into.add(path, `must have at least ${counted(schema.minProperties, 'member')} of ${known.join(', ')}`);
  }
  if (schema.maxProperties !== undefined && names.length > schema.maxProperties) {
    into.add(path, `must have at most ${counted(schema.maxProperties, 'member')}, not ${names.length}`);
  }
  for (const name of names) {
    if (into.full) return;
    const member = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (member) explainFaults(member, value[name], memberPath(path, name), into);
    else explainExtra(schema, known, name, value[name], path, into);
  }
}

function explainExtra(
  schema: WireSchema,
  known: readonly string[],
  name: string,
  member: unknown,
  path: string,
  into: FaultList,
): void {
  if (schema.additionalProperties === false) {
    into.add(memberPath(path, name), `is not a known field${nameRemedy(name, known)}`);
    return;
  }
  const any = Object.values(schema.patternProperties ?? {})[0];
  if (any) explainFaults(any, member, memberPath(path, name), into);
}

function explainArray(schema: WireSchema, value: unknown, path: string, into: FaultList): void {
  if (!Array.isArray(value)) {
    into.add(path, `must be an array, not ${shown(value)}`);
    return;
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    into.add(path, `must have at least ${counted(schema.minItems, 'element')}`);
  }
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    into.add(path, `must have at most ${counted(schema.maxItems, 'element')}, not ${value.length}`);
  }
  if (schema.items) {
    for (const [index, element] of (value as unknown[]).entries()) {
      if (into.full) return;
      explainFaults(schema.items, element, elementPath(path, index), into);
    }
  }
  if (schema.uniqueItems === true) {
    const seen = new Set<unknown>();
    for (const [index, element] of (value as unknown[]).entries()) {
      if (seen.has(element)) into.add(elementPath(path, index), `repeats ${shown(element)}; list it once`);
      seen.add(element);
    }
  }
}

function explainString(schema: WireSchema, value: unknown, path: string, into: FaultList): void {
  if (typeof value !== 'string') {
    into.add(path, `must be a string, not ${shown(value)}`);
    return;
  }
  const { minLength = 0, maxLength = Infinity } = schema;
  const characters = value.length > maxLength * 2 ? value.length : Array.from(value).length;
  if (characters < minLength || characters > maxLength) {
    const bounds =
      maxLength === Infinity
        ? `at least ${counted(minLength, 'character')}`
        : `${minLength} to ${maxLength} characters`;
    into.add(path, `must have ${bounds}, not ${characters}`);
  } else if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) {
    into.add(path, `must be ${schema.patternMeaning ?? `of the form ${schema.pattern}`}, not ${shown(value)}`);
  }
}

function explainNumber(schema: WireSchema, value: unknown, path: string, into: FaultList): void {
  const { minimum, maximum } = schema;
  const whole = schema.type === 'integer';
  if (typeof value !== 'number') {
    const remedy = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? '; remove the quotes' : '';
    into.add(path, `must be a ${whole ? 'whole number' : 'number'}, not ${shown(value)}${remedy}`);
    return;
  }
  if (whole && !Number.isInteger(value)) {
    into.add(path, `must be a whole number, not ${value}`);
    return;
  }
  if ((minimum !== undefined && value < minimum) || (maximum !== undefined && value > maximum)) {
    if (minimum === undefined) into.add(path, `must be at most ${maximum!}, not ${value}`);
    else if (maximum === undefined) into.add(path, `must be at least ${minimum}, not ${value}`);
    else into.add(path, `must be between ${minimum} and ${maximum}, not ${value}`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Formats a value for a response: short, and never the inside of an object. */
function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value, 40);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return kindOfValue(value);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function listed(names: readonly string[]): string {
  if (names.length <= 1) return names.join('');
  return `one of ${names.join(', ')}`;
}
