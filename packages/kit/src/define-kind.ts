import type { JsonObject } from '@heddle/base/json';
import { TASK_FIELDS, type DeadlineBasis } from '@heddle/base/vocabulary/task-fields';
import type { SchemaInput, SchemaOutput, StandardSchema } from '@heddle/base/standard-schema';
import type { KindContext } from './context.ts';

/** Shared by all copies of this package: a module may bring its own. */
const KIND: unique symbol = Symbol.for('heddle.kind') as never;

/** Retry policy of a failed task: the n-th retry waits `min(backoff_secs * factor^(n-1), max_backoff_secs)`. */
export interface RetryOptions {
  /** Total attempts, including the first. */
  max_attempts: number;
  /** 1 by default. */
  backoff_secs?: number;
  /** 2 by default. */
  factor?: number;
  /** 300 by default. */
  max_backoff_secs?: number;
  /** 0: exact waits; 1: each is drawn between zero and the full wait. 0.5 by default. */
  jitter?: number;
}

interface CommonOptions {
  /** Name of the kind in tasks, 1 to 100 characters. */
  name: string;
  /** What the kind does, for people: 1 to 1,000 characters. */
  description?: string;
  /**
   * JSON Schema of the input, for forms and checks before a task runs. By default what `input` says of itself, as zod and
   * others do.
   */
  input_schema?: JsonObject;
  /** Concurrent handlers of this kind in one process; by default the worker's total. */
  concurrency?: number;
  /** Default for tasks made by `task(definition, …)`. */
  timeout_secs?: number;
  /** Start of the time limit, as in `TaskOptions`; default for tasks made by `task(definition, …)`. */
  timeout_basis?: DeadlineBasis;
  /** Default for tasks made by `task(definition, …)`. */
  retry?: RetryOptions;
  /** Whether it creates nodes; by default whether its name ends with `Generator` or `run` is a generator function. */
  generator?: boolean;
}

/**
 * The return value of `run` becomes the task's result (JSON, at most 1 MiB); an exception, its failure. A generator
 * returns an array of nodes, or yields them.
 */
type Run<Input> = (input: Input, context: KindContext) => unknown;

export interface KindOptions<Schema extends StandardSchema> extends CommonOptions {
  /** Any Standard Schema; an input that it rejects fails the task before `run` is called. */
  input: Schema;
  run: Run<SchemaOutput<Schema>>;
}

export interface UncheckedKindOptions extends CommonOptions {
  input?: undefined;
  run: Run<JsonObject>;
}

/** A kind of task: its name, input schema and handler. `Input` is what submitters write. */
export interface KindDefinition<Input = never> {
  readonly [KIND]: true;
  readonly name: string;
  readonly description: string | null;
  readonly schema: StandardSchema | null;
  /** JSON Schema of its input; null if only `schema` knows it. */
  readonly input_schema: JsonObject | null;
  readonly run: Run<never>;
  readonly generator: boolean;
  readonly concurrency: number | null;
  readonly timeout_secs: number | undefined;
  readonly timeout_basis: DeadlineBasis | undefined;
  readonly retry: RetryOptions | undefined;
  /** Never present: it carries the type. */
  readonly inputType?: (input: Input) => void;
}

const NAME_CHARACTERS_MAX = 100;
const DESCRIPTION_CHARACTERS_MAX = 1000;
const { timeout_secs: TIMEOUT, deadline_basis: BASIS } = TASK_FIELDS;

/** Defines a kind of task. @throws TypeError if an option is invalid */
export function defineKind<Schema extends StandardSchema>(
  options: KindOptions<Schema>,
): KindDefinition<SchemaInput<Schema>>;
export function defineKind(options: UncheckedKindOptions): KindDefinition<JsonObject>;
export function defineKind(options: KindOptions<StandardSchema> | UncheckedKindOptions): KindDefinition {
  const { name, run, input: schema, concurrency, timeout_secs, timeout_basis, retry } = options;
  if (typeof name !== 'string' || name === '' || name.length > NAME_CHARACTERS_MAX) {
    throw new TypeError(`defineKind: name must have 1 to ${NAME_CHARACTERS_MAX} characters`);
  }
  if (typeof run !== 'function') throw new TypeError(`defineKind(${name}): run must be a function`);
  if (schema !== undefined && typeof (schema as Partial<StandardSchema>)['~standard']?.validate !== 'function') {
    throw new TypeError(`defineKind(${name}): input must be a Standard Schema (zod, valibot, arktype, …)`);
  }
  const { description = null, input_schema = null } = options;
  if (description !== null && (description === '' || description.length > DESCRIPTION_CHARACTERS_MAX)) {
    throw new TypeError(`defineKind(${name}): description must have 1 to ${DESCRIPTION_CHARACTERS_MAX} characters`);
  }
  requireWhole(name, 'concurrency', concurrency, 10_000);
  requireWhole(name, 'timeout_secs', timeout_secs, TIMEOUT.max);
  if (timeout_basis !== undefined && !BASIS.values.includes(timeout_basis)) {
    throw new TypeError(`defineKind(${name}): timeout_basis must be one of ${BASIS.values.join(', ')}`);
  }
  requireWhole(name, 'retry.max_attempts', retry?.max_attempts, 100);
  return Object.freeze({
    [KIND]: true as const,
    name,
    description,
    schema: schema ?? null,
    input_schema,
    run,
    generator: options.generator ?? (name.endsWith('Generator') || isGeneratorFunction(run)),
    concurrency: concurrency ?? null,
    timeout_secs,
    timeout_basis,
    retry,
  });
}

/** Returns whether a value, from any module, is a kind. */
export function isKindDefinition(value: unknown): value is KindDefinition {
  return typeof value === 'object' && value !== null && (value as { [KIND]?: unknown })[KIND] === true;
}

function requireWhole(kind: string, field: string, value: number | undefined, max: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1 && value <= max)) return;
  throw new TypeError(`defineKind(${kind}): ${field} must be a whole number between 1 and ${max}, not ${value}`);
}

function isGeneratorFunction(run: unknown): boolean {
  const tag = Object.prototype.toString.call(run);
  return tag === '[object GeneratorFunction]' || tag === '[object AsyncGeneratorFunction]';
}
