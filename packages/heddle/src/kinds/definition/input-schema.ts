import { Faults, isObject, shown } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import { placeOf } from '@heddle/base/parse/path';
import type { StandardSchema } from '@heddle/base/standard-schema';

/** Builds the input schema of a kind: `read` reads the known members and records faults. */
export function schemaOf<Output, Input>(read: (input: Members) => Output): StandardSchema<Input, Output> {
  const validate = (value: unknown) => {
    const faults = new Faults();
    const place = placeOf(null, 'input');
    if (!isObject(value)) return { issues: [{ message: `must be an object, not ${shown(value)}` }] };
    const output = read(new Members(value, place, faults));
    return faults.list.length === 0 ? { value: output } : { issues: faults.list.map(issueOf) };
  };
  return { '~standard': { version: 1, vendor: 'heddle', validate } };
}

/** Splits `input.sources[0].path: is required` into the path after `input`, and the message. */
export function issueOf(fault: string): { message: string; path?: string[] } {
  const [, place = '', message = fault] = /^input\.?(.*?): (.*)$/s.exec(fault) ?? [];
  return place === '' ? { message } : { message, path: [place] };
}

/** Returns the members of an object; null, with a fault, for anything else. An absent one is empty. */
export function objectMember(members: Members, name: string): Members | null {
  const value = members.raw(name) ?? {};
  if (isObject(value)) return new Members(value, members.at(name), members.faults);
  members.fault(name, `must be an object, not ${shown(value)}`);
  return null;
}

/** Returns the elements of an array of objects; other elements are faults. */
export function objectsMember(members: Members, name: string, max: number): Members[] {
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
