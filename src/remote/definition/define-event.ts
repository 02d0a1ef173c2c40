import type { JsonObject } from '../../domain/json.ts';
import type { SchemaInput, SchemaOutput, StandardSchema } from '../../domain/standard-schema.ts';
import type { Tier } from '../protocol/messages.ts';
import type { EventContext } from './event-context.ts';

// This folder is loaded beside the code of events, inside the sandbox: nothing but types may come from outside of it.

/** Known across copies of this package: a module may bring its own. */
const EVENT: unique symbol = Symbol.for('heddle.event') as never;

interface CommonOptions {
  /** What tasks name it by: 1 to 200 characters of A-Z, a-z, 0-9, `_`, `.` and `-`; case matters. */
  name: string;
  /** Seconds from start to end, 1 to 86,400; the executor's own bound holds as well. */
  timeout_secs?: number;
  /** Mebibytes, 16 to 65,536; the executor's own bound holds as well. */
  memory_mb?: number;
  /** How strongly it must at least be kept apart. */
  tier?: Tier;
  /** Whether a run that was cut short may be repeated; false by default. */
  idempotent?: boolean;
}

/** What `run` returns becomes the result (JSON); what it throws, the failure. */
type Run<Args> = (args: Args, context: EventContext) => unknown;

export interface EventOptions<Schema extends StandardSchema> extends CommonOptions {
  /** Any Standard Schema; arguments that it refuses end the task with INVALID_ARGS before `run` is called. */
  args: Schema;
  run: Run<SchemaOutput<Schema>>;
}

export interface UncheckedEventOptions extends CommonOptions {
  args?: undefined;
  run: Run<JsonObject>;
}

/** An event: its name, what its arguments must be, and what it does. `Args` is what callers write. */
export interface EventDefinition<Args = never> {
  readonly [EVENT]: true;
  readonly name: string;
  readonly schema: StandardSchema | null;
  readonly run: Run<never>;
  readonly timeout_secs: number | null;
  readonly memory_mb: number | null;
  readonly tier: Tier | null;
  readonly idempotent: boolean;
  /** Never there: it carries the type. */
  readonly argsType?: (args: Args) => void;
}

const NAME = /^[A-Za-z0-9_.-]{1,200}$/;
const EVENT_TIERS = ['pooled', 'process', 'jail', 'container'] as const satisfies readonly Tier[];
const TIMEOUT_SECS = { min: 1, max: 86_400 } as const;
const MEMORY_MB = { min: 16, max: 65_536 } as const;

/** Defines an event. @throws TypeError where an option is not valid */
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
  if (tier !== undefined && !EVENT_TIERS.includes(tier)) {
    throw new TypeError(`defineEvent(${name}): tier must be one of ${EVENT_TIERS.join(', ')}, not ${tier as string}`);
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

/** Whether a value, of whatever module, is an event. */
export function isEventDefinition(value: unknown): value is EventDefinition {
  return typeof value === 'object' && value !== null && (value as { [EVENT]?: unknown })[EVENT] === true;
}

/**
 * The events that a module exports: the default export or named ones, single or in arrays; each once.
 *
 * @throws TypeError where two of them have one name
 */
export function eventsOf(module: Readonly<Record<string, unknown>>): readonly EventDefinition[] {
  const events = [...new Set(Object.values(module).flat().filter(isEventDefinition))];
  const names = new Set<string>();
  for (const { name } of events) {
    if (names.has(name)) throw new TypeError(`the module defines the event ${name} twice; give one another name`);
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
  throw new TypeError(`defineEvent(${event}): ${field} must be a whole number between ${min} and ${max}, not ${value}`);
}
