import type { JsonObject } from '@heddle/base/json';
import type { SchemaInput, SchemaOutput, StandardSchema } from '@heddle/base/standard-schema';
import { type Tier, TIERS } from './tier.ts';
import type { EventContext } from './event-context.ts';

// This folder is loaded inside the sandbox together with event code: it may import only types from outside.

/** Shared across copies of this package, because a module may bring its own. */
const EVENT: unique symbol = Symbol.for('heddle.event') as never;

interface CommonOptions {
  /** Name in requests: 1 to 200 characters of A-Z, a-z, 0-9, `_`, `.` and `-`; case-sensitive. */
  name: string;
  /** Time limit of a run, seconds, 1 to 86,400; the executor's limit also applies. */
  timeout_secs?: number;
  /** Memory limit, MiB, 16 to 65,536; the executor's limit also applies. */
  memory_mb?: number;
  /** Minimum sandbox tier. */
  tier?: Tier;
  /** Whether an interrupted run may be repeated; default false. */
  idempotent?: boolean;
}

/** Runs the event: the returned value (JSON) is the result, a thrown error the failure. */
type Run<Args> = (args: Args, context: EventContext) => unknown;

export interface EventOptions<Schema extends StandardSchema> extends CommonOptions {
  /** Any Standard Schema; invalid arguments fail the task with INVALID_ARGS before `run` is called. */
  args: Schema;
  run: Run<SchemaOutput<Schema>>;
}

export interface UncheckedEventOptions extends CommonOptions {
  args?: undefined;
  run: Run<JsonObject>;
}

/** An event: its name, its argument schema and its code. `Args` is the type that callers pass. */
export interface EventDefinition<Args = never> {
  readonly [EVENT]: true;
  readonly name: string;
  readonly schema: StandardSchema | null;
  readonly run: Run<never>;
  readonly timeout_secs: number | null;
  readonly memory_mb: number | null;
  readonly tier: Tier | null;
  readonly idempotent: boolean;
  /** Never set: it carries the type. */
  readonly argsType?: (args: Args) => void;
}

const NAME = /^[A-Za-z0-9_.-]{1,200}$/;
const TIMEOUT_SECS = { min: 1, max: 86_400 } as const;
const MEMORY_MB = { min: 16, max: 65_536 } as const;

/** Defines an event. @throws TypeError if an option is invalid */
export function defineEvent<Schema extends StandardSchema>(
  options: EventOptions<Schema>,
): EventDefinition<SchemaInput<Schema>>;
export function defineEvent(options: UncheckedEventOptions): EventDefinition<JsonObject>;
export function defineEvent(options: EventOptions<StandardSchema> | UncheckedEventOptions): EventDefinition {
  const { name, run, args: schema, timeout_secs, memory_mb, tier, idempotent } = options;
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new TypeError('defineEvent: name must have 1 to 200 characters of A-Z, a-z, 0-9, "_", "." and "-"');
  }
  if (typeof run !== 'function') throw new TypeError(`defineEvent(${name}): run must be a function`);
  if (schema !== undefined && !isStandardSchema(schema)) {
    throw new TypeError(`defineEvent(${name}): args must be a Standard Schema (zod, valibot, arktype, …)`);
  }
  requireWhole(name, 'timeout_secs', timeout_secs, TIMEOUT_SECS);
  requireWhole(name, 'memory_mb', memory_mb, MEMORY_MB);
  if (tier !== undefined && !TIERS.includes(tier)) {
    throw new TypeError(`defineEvent(${name}): tier must be one of ${TIERS.join(', ')} (got ${tier as string})`);
  }
  if (idempotent !== undefined && typeof idempotent !== 'boolean') {
    throw new TypeError(`defineEvent(${name}): idempotent must be true or false`);
  }
  return Object.freeze({
    [EVENT]: true as const,
    name,
    schema: schema ?? null,
    run,
    timeout_secs: timeout_secs ?? null,
    memory_mb: memory_mb ?? null,
    tier: tier ?? null,
    idempotent: idempotent ?? false,
  });
}

/** Returns whether a value is an event definition, from any copy of this package. */
export function isEventDefinition(value: unknown): value is EventDefinition {
  return typeof value === 'object' && value !== null && (value as { [EVENT]?: unknown })[EVENT] === true;
}

/**
 * Returns the events exported by a module: the default export or named ones, single or in arrays; each once.
 *
 * @throws TypeError if two of them share a name
 */
export function eventsOf(module: Readonly<Record<string, unknown>>): readonly EventDefinition[] {
  const events = [...new Set(Object.values(module).flat().filter(isEventDefinition))];
  const names = new Set<string>();
  for (const { name } of events) {
    if (names.has(name)) throw new TypeError(`the module defines the event ${name} twice; rename one`);
    names.add(name);
  }
  return events;
}

function isStandardSchema(value: unknown): boolean {
  return typeof (value as Partial<StandardSchema> | null)?.['~standard']?.validate === 'function';
}

function requireWhole(
  event: string,
  field: string,
  value: number | undefined,
  { min, max }: { min: number; max: number },
): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= min && value <= max)) return;
  throw new TypeError(
    `defineEvent(${event}): ${field} must be a whole number between ${min} and ${max} (got ${value})`,
  );
}
