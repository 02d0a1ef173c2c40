import { HeddleError } from '@heddle/base/errors';
import type { CodeOrigin } from './code-origin.ts';
import type { DefinitionOverrides } from './described-events.ts';

/** An event name and the origin of its code. */
export interface Registration {
  readonly name: string;
  /** For messages: `events[2] of /etc/heddle/events.toml`. */
  readonly place: string;
  readonly origin: CodeOrigin;
  readonly entry: string | null;
  readonly overrides: DefinitionOverrides;
}

/** Registrations by name; a Map, so that names such as `constructor` and `__proto__` are safe. */
export class Registrations {
  readonly #byName = new Map<string, Registration>();
  readonly #faults: string[] = [];
  #names: readonly string[] | null = null;

  add(registration: Registration): void {
    const { name, place } = registration;
    const earlier = this.#byName.get(name);
    if (earlier !== undefined) {
      this.fault(place, `the event ${name} is already registered by ${earlier.place}; remove one of them`);
      return;
    }
    this.#byName.set(name, registration);
    this.#names = null;
  }

  fault(place: string, message: string): void {
    this.#faults.push(`${place}: ${message}`);
  }

  /** Throws if any fault was recorded. @throws HeddleError VALIDATION_FAILED with all faults */
  requireFaultless(): void {
    if (this.#faults.length === 0) return;
    throw new HeddleError('VALIDATION_FAILED', 'Invalid events', { details: [...this.#faults] });
  }

  get(name: string): Registration | undefined {
    return this.#byName.get(name);
  }

  all(): Iterable<Registration> {
    return this.#byName.values();
  }

  names(): readonly string[] {
    this.#names ??= Object.freeze([...this.#byName.keys()].sort());
    return this.#names;
  }
}
