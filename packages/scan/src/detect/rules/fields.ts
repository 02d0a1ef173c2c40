import { HeddleError } from '@heddle/base/errors';

/** Builds the error for an invalid rule set, with its location. */
export function ruleError(where: string, message: string): HeddleError {
  return new HeddleError('VALIDATION_FAILED', `${where}: ${message}`);
}

export type TomlTable = Readonly<Record<string, unknown>>;

/** Reads a table's fields by name, ignoring case, and records which ones were never read. */
export class FieldReader {
  readonly where: string;
  readonly #fields = new Map<string, { name: string; value: unknown }>();
  readonly #read = new Set<string>();

  constructor(table: TomlTable, where: string) {
    this.where = where;
    for (const [name, value] of Object.entries(table)) this.#fields.set(name.toLowerCase(), { name, value });
  }

  #value(name: string): unknown {
    this.#read.add(name.toLowerCase());
    return this.#fields.get(name.toLowerCase())?.value;
  }

  #fail(name: string, wanted: string, remedy: string): never {
    throw ruleError(this.where, `${name} must be ${wanted}; write ${remedy}`);
  }

  string(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === 'string') return value;
    return this.#fail(name, 'a string', `${name} = '''...'''`);
  }

  strings(name: string): string[] {
    const value = this.#value(name);
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
    return this.#fail(name, 'a list of strings', `${name} = ["...", "..."]`);
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined;
  }

  /** Returns a list of anything; a value that is no list counts as a list of one. */
  list(name: string): readonly unknown[] {
    const value = this.#value(name);
    if (value === undefined) return [];
    return Array.isArray(value) ? (value as unknown[]) : [value];
  }

  /** Returns a name of something, or a table in its place. */
  nameOrTable(name: string): string | TomlTable | undefined {
    return typeof this.#value(name) === 'string' ? this.string(name) : this.table(name);
  }

  number(name: string): number | undefined {
    const value = this.#value(name);
    if (value === undefined || (typeof value === 'number' && value >= 0)) return value;
    return this.#fail(name, 'a number from 0', `${name} = 3.5`);
  }

  integer(name: string): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return value;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    return this.#fail(name, 'a whole number from 0', `${name} = 1`);
  }

  boolean(name: string): boolean | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.#fail(name, 'true or false', `${name} = true`);
  }

  table(name: string): TomlTable | undefined {
    const value = this.#value(name);
    if (value === undefined || isTable(value)) return value;
    return this.#fail(name, 'a table', `[${name}]`);
  }

  tables(name: string): TomlTable[] {
    const value = this.#value(name);
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every(isTable)) return value;
    return this.#fail(name, 'a list of tables', `[[${name}]]`);
  }

  /** Returns a warning for each field that was never read. */
  unknown(): string[] {
    const names = [...this.#fields].filter(([key]) => !this.#read.has(key)).map(([, { name }]) => name);
    return names.map((name) => `${this.where}: unknown field ${name} ignored`);
  }
}

function isTable(value: unknown): value is TomlTable {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
