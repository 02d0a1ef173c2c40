import type { JsonObject } from '@heddle/base/json';
import { Faults, isObject, shown } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import { placeOf, type Place } from '@heddle/base/parse/path';
import type { StandardSchema } from '@heddle/base/standard-schema';

/**
 * Builds the input schema of a kind: `read` reads the known members and records faults.
 *
 * @param properties JSON Schema of members that `read` does not read by their type
 */
export function schemaOf<Output, Input>(
  read: (input: Members) => Output,
  properties: Readonly<Record<string, JsonObject>> = {},
): StandardSchema<Input, Output> {
  const validate = (value: unknown) => {
    const faults = new Faults();
    const place = placeOf(null, 'input');
    if (!isObject(value)) return { issues: [{ message: `must be an object, not ${shown(value)}` }] };
    const output = read(new Members(value, place, faults));
    return faults.list.length === 0 ? { value: output } : { issues: faults.list.map(issueOf) };
  };
  const jsonSchema = { input: () => describeMembers(read, properties) };
  return { '~standard': { version: 1, vendor: 'heddle', validate, jsonSchema } };
}

/** Returns the JSON Schema of what a function reads, by letting it read nothing. */
function describeMembers(
  read: (input: Members) => unknown,
  properties: Readonly<Record<string, JsonObject>>,
): JsonObject {
  const recorder = new MemberRecorder(placeOf(null, 'input'), new Faults());
  read(recorder);
  return recorder.schema(properties);
}

/** Records which members are read, and as what. A member that is read as a whole may be anything. */
class MemberRecorder extends Members {
  readonly #properties = new Map<string, JsonObject>();
  readonly #required = new Set<string>();
  /** Objects and elements whose members are recorded, too; `max` of an array. */
  readonly #children = new Map<string, { recorder: MemberRecorder; max: number | null }>();
  #closed = false;

  constructor(place: Place, faults: Faults) {
    super({}, place, faults);
  }

  schema(properties: Readonly<Record<string, JsonObject>>): JsonObject {
    const children = [...this.#children].map(([name, { recorder, max }]) => {
      const members = recorder.schema({});
      return [name, max === null ? members : { type: 'array', maxItems: max, items: members }] as const;
    });
    return {
      type: 'object',
      properties: { ...Object.fromEntries(this.#properties), ...Object.fromEntries(children), ...properties },
      ...(this.#required.size === 0 ? {} : { required: [...this.#required] }),
      ...(this.#closed ? { additionalProperties: false } : {}),
    };
  }

  override has(name: string): boolean {
    this.#record(name, {});
    return false;
  }

  override raw(name: string): unknown {
    this.#record(name, {});
    return undefined;
  }

  override refuseOthers(known: readonly string[]): void {
    this.#closed = true;
    for (const name of known) this.#record(name, {});
  }

  override requireAll(...names: string[]): void {
    for (const name of names) this.#required.add(name);
  }

  override text(name: string, maxChars: number): string | null {
    return this.#record(name, { type: 'string', minLength: 1, maxLength: maxChars });
  }

  override uuid(name: string): string | null {
    return this.#record(name, { type: 'string', format: 'uuid' });
  }

  override boolean(name: string): boolean | null {
    return this.#record(name, { type: 'boolean' });
  }

  override integer(name: string, min: number, max: number): number | null {
    return this.#record(name, { type: 'integer', minimum: min, maximum: max });
  }

  override number(name: string, min: number, max: number): number | null {
    return this.#record(name, { type: 'number', minimum: min, maximum: max });
  }

  override oneOf<Name extends string>(name: string, names: readonly Name[]): Name | null {
    return this.#record(name, { enum: [...names] });
  }

  /** Returns the recorder of the members of an object, or with `max` of the elements of an array of objects. */
  child(name: string, max: number | null): MemberRecorder {
    const recorder = this.#children.get(name)?.recorder ?? new MemberRecorder(this.at(name), new Faults());
    this.#children.set(name, { recorder, max });
    return recorder;
  }

  describe(name: string, schema: JsonObject): void {
    this.#record(name, schema);
  }

  #record(name: string, schema: JsonObject): null {
    const known = this.#properties.get(name);
    if (known === undefined || Object.keys(known).length === 0) this.#properties.set(name, schema);
    return null;
  }
}

/** Splits `input.sources[0].path: is required` into the path after `input`, and the message. */
export function issueOf(fault: string): { message: string; path?: string[] } {
  const [, place = '', message = fault] = /^input\.?(.*?): (.*)$/s.exec(fault) ?? [];
  return place === '' ? { message } : { message, path: [place] };
}

/** Tells the schema of a member that is read as a whole, where it is read. */
export function describeMember(members: Members, name: string, schema: JsonObject): void {
  if (members instanceof MemberRecorder) members.describe(name, schema);
}

/** Returns the members of an object; null, with a fault, for anything else. An absent one is empty. */
export function objectMember(members: Members, name: string): Members | null {
  if (members instanceof MemberRecorder) return members.child(name, null);
  const value = members.raw(name) ?? {};
  if (isObject(value)) return new Members(value, members.at(name), members.faults);
  members.fault(name, `must be an object, not ${shown(value)}`);
  return null;
}

/** Returns the elements of an array of objects; other elements are faults. */
export function objectsMember(members: Members, name: string, max: number): Members[] {
  if (members instanceof MemberRecorder) return [members.child(name, max)];
  return elementsOf(members, name, max).flatMap((value, index) => {
    const place = placeOf(members.at(name), index);
    if (isObject(value)) return [new Members(value, place, members.faults)];
    members.faults.add(place, `must be an object, not ${shown(value)}`);
    return [];
  });
}

/** Returns the elements of an array of strings of 1 to `maxChars` characters; undefined if absent. */
export function textsMember(
  members: Members,
  name: string,
  { max, maxChars }: { max: number; maxChars: number },
): string[] | undefined {
  const element = { type: 'string', minLength: 1, maxLength: maxChars };
  describeMember(members, name, { type: 'array', maxItems: max, items: element });
  if (!members.has(name)) return undefined;
  return elementsOf(members, name, max).flatMap((value, index) => {
    if (typeof value === 'string' && value !== '' && value.length <= maxChars && !value.includes('\0')) return [value];
    members.faults.add(
      placeOf(members.at(name), index),
      `must be a string of 1 to ${maxChars} characters, not ${shown(value)}`,
    );
    return [];
  });
}

function elementsOf(members: Members, name: string, max: number): unknown[] {
  const value = members.raw(name) ?? [];
  if (!Array.isArray(value)) {
    members.fault(name, `must be an array, not ${shown(value)}`);
    return [];
  }
  if (value.length > max) members.fault(name, `may have ${max} elements, not ${value.length}`);
  return value.slice(0, max);
}
