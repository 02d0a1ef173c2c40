import { isUuid } from '../ids.ts';
import { shown } from './faults.ts';
import type { Faults } from './faults.ts';
import { isStorable, textFault } from './json-value.ts';
import { placeOf, quoted } from './path.ts';
import type { Place } from './path.ts';
import { nameRemedy, suggestName } from '../suggest.ts';

/**
 * Reads the members of one object. An absent or null member takes its default; an invalid one adds a fault and takes
 * its default too, so that parsing continues and finds the other faults.
 */
export class Members {
  readonly place: Place;
  readonly faults: Faults;
  readonly #object: Record<string, unknown>;

  constructor(object: Record<string, unknown>, place: Place, faults: Faults) {
    this.#object = object;
    this.place = place;
    this.faults = faults;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name) && this.#object[name] !== null;
  }

  raw(name: string): unknown {
    return Object.hasOwn(this.#object, name) ? this.#object[name] : undefined;
  }

  at(name: string): Place {
    return placeOf(this.place, name);
  }

  fault(name: string, message: string): void {
    this.faults.add(this.at(name), message);
  }

  refuseOthers(known: readonly string[]): void {
    for (const name of Object.keys(this.#object)) {
      if (!known.includes(name)) this.fault(name, `is not a known member${nameRemedy(name, known)}`);
    }
  }

  requireAll(...names: string[]): void {
    for (const name of names) if (!this.has(name)) this.fault(name, 'is required');
  }

  text(name: string, maxChars: number): string | null {
    const value = this.raw(name);
    return value === undefined || value === null ? null : readText(value, this.at(name), this.faults, maxChars);
  }

  /** Reads a UUID in lower case. */
  uuid(name: string): string | null {
    const value = this.raw(name);
    if (value === undefined || value === null) return null;
    if (typeof value === 'string' && isUuid(value)) return value.toLowerCase();
    return this.#refuse(name, `must be a UUID, not ${shown(value)}`);
  }

  boolean(name: string): boolean | null {
    const value = this.raw(name);
    if (value === undefined || value === null || typeof value === 'boolean') return value ?? null;
    return this.#refuse(name, `must be true or false, not ${shown(value)}`);
  }

  integer(name: string, min: number, max: number): number | null {
    const value = this.number(name, min, max);
    if (value === null || Number.isInteger(value)) return value;
    return this.#refuse(name, `must be a whole number, not ${value}`);
  }

  number(name: string, min: number, max: number): number | null {
    const value = this.raw(name);
    if (value === undefined || value === null) return null;
    if (typeof value !== 'number' || Number.isNaN(value)) {
      const remedy = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? '; leave out the quotes' : '';
      return this.#refuse(name, `must be a number, not ${shown(value)}${remedy}`);
    }
    if (value < min || value > max) return this.#refuse(name, `must be between ${min} and ${max}, not ${value}`);
    return value;
  }

  oneOf<Name extends string>(name: string, names: readonly Name[]): Name | null {
    const value = this.raw(name);
    if (value === undefined || value === null) return null;
    const found = names.find((known) => known === value);
    if (found !== undefined) return found;
    const near = typeof value === 'string' ? suggestName(value, names) : null;
    const remedy = near === null ? `, not ${shown(value)}` : `, not ${shown(value)}; did you mean ${quoted(near)}?`;
    return this.#refuse(name, `must be ${listed(names)}${remedy}`);
  }

  #refuse(name: string, message: string): null {
    this.fault(name, message);
    return null;
  }
}

/** Reads a string of 1 to `maxChars` characters; null, with a fault, if it is invalid. */
export function readText(value: unknown, place: Place, faults: Faults, maxChars: number): string | null {
  const message = textMessage(value, maxChars);
  if (message === null) return value as string;
  faults.add(place, message);
  return null;
}

function textMessage(value: unknown, maxChars: number): string | null {
  if (typeof value !== 'string') return `must be a string, not ${shown(value)}`;
  const characters = value.length > maxChars * 2 ? value.length : Array.from(value).length;
  if (characters < 1 || characters > maxChars) return `must have 1 to ${maxChars} characters, not ${characters}`;
  return isStorable(value) ? null : textFault(value);
}

function listed(names: readonly string[]): string {
  const all = names.map((name) => quoted(name));
  return all.length === 1 ? all[0]! : `${all.slice(0, -1).join(', ')} or ${all.at(-1)!}`;
}
