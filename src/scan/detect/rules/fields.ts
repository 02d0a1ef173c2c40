import { HeddleError } from '../../../domain/errors.ts';

/** Says what is wrong with a rule set, and where. */
export function ruleError(where: string, message: string): HeddleError {
  return new HeddleError('VALIDATION_FAILED', `${where}: ${message}`);
}

export type TomlTable = Readonly<Record<string, unknown>>;

/** Reads a table's fields by name, in any case of their letters, and remembers which ones it was never asked for. */
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
    return this.#fail(name, 'a text', `${name} = '''...'''`);
  }

  strings(name: string): string[] {
    const value = this.#value(name);
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
    return this.#fail(name, 'a list of texts', `${name} = ["...", "..."]`);
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

  /** A sentence for each field that nobody asked for. */
  unknown(): string[] {
    const names = [...this.#fields].filter(([key]) => !this.#read.has(key)).map(([, { name }]) => name);
    return names.map((name) => `${this.where}: the field ${name} is not known and has no effect`);
  }
}

function isTable(value: unknown): value is TomlTable {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
