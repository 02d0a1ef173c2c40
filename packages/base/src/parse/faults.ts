import { pathOf, quoted } from './path.ts';
import type { Place } from './path.ts';

/** Maximum number of faults per answer; parsing stops there. */
const MAX_FAULTS = 100;

/** Collects the faults of a document, each with its path and, if there is one, its remedy. */
export class Faults {
  readonly list: string[] = [];

  get full(): boolean {
    return this.list.length >= MAX_FAULTS;
  }

  add(place: Place, message: string): void {
    if (!this.full) this.list.push(`${pathOf(place)}: ${message}`);
  }
}

/** Formats a value for a message: short, and never the inside of an object. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value, 40);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === null) return 'null';
  if (value === undefined) return 'absent';
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
