import type { GivenSettings } from '@heddle/base/vocabulary/task-fields';
import { createHash } from 'node:crypto';

import type { JsonObject, JsonValue } from '@heddle/base/json';
import { MODEL_NAME_MEANING, MODEL_NAME_PATTERN, MODEL_TARGET_CHARACTERS_MAX } from '@heddle/core/domain/model-record';
import type { Members } from '@heddle/base/parse/members';
import { readRetry } from '@heddle/core/domain/parse/retry';
import { readSettings, SETTING_MEMBERS } from '@heddle/core/domain/parse/settings';
import { COMPLETION_POLICIES, type CompletionPolicy } from '@heddle/base/vocabulary/workflow';
import type { RetryOptions } from '@heddle/kit';
import type { StandardSchema } from '@heddle/base/standard-schema';
import { objectMember, schemaOf } from '../definition/input-schema.ts';
import { readItemExpression, type ItemExpression } from '../items/item-expression.ts';
import { MODEL_NAMES } from '../items/model-item.ts';
import { PROBE_MEMBERS, readProbeSettings, readSeed, readTargets, type ProbeSettings } from './probe-input.ts';

const TASKS_MAX = 1000;
const TASKS_DEFAULT = 64;
const PARALLELISM_DEFAULT = 4;

/** The models from which targets are read. */
export interface FromModels {
  model: string;
  /** Null: of all targets. */
  target: string | null;
  where: ItemExpression | null;
  /** The value of `params` in `where`. */
  params: JsonValue;
}

export interface Division {
  /** Maximum number of tasks. */
  tasks_max: number;
  /** Concurrent tasks across all processes. */
  parallelism: number;
}

/** Options of the created tasks besides their input. */
export interface MadeTasks extends GivenSettings<'tree'> {
  retry?: RetryOptions;
}

export interface GeneratorInput<Own> {
  /** The name under which the aggregator keeps models; null without an aggregator. */
  target: string | null;
  targets: readonly string[];
  from: FromModels | null;
  words: readonly string[];
  seed: number | null;
  settings: ProbeSettings;
  division: Division;
  /** The container of the tasks; null: one of the generator's own. */
  into: string | null;
  /** Policy of the container it creates. */
  policy: CompletionPolicy;
  task: MadeTasks;
  own: Own;
  /** The members of `own` as submitted, for the created tasks. */
  passed: JsonObject;
}

export interface GeneratorSchemaOptions<Own> {
  members: readonly string[];
  read: (input: Members) => Own;
  /** Words that are prepended to each target; only for names. */
  readWords?: (input: Members) => string[];
}

const MEMBERS = ['target', 'targets', 'from', 'seed', 'partition', 'into', 'aggregator', 'policy', 'task'] as const;

export function generatorSchema<Own>(
  options: GeneratorSchemaOptions<Own>,
): StandardSchema<JsonObject, GeneratorInput<Own>> {
  const words = options.readWords === undefined ? [] : ['words'];
  return schemaOf<GeneratorInput<Own>, JsonObject>((input) => {
    input.refuseOthers([...MEMBERS, ...words, ...PROBE_MEMBERS, ...options.members]);
    const settings = readProbeSettings(input);
    const passed = options.members.filter((name) => input.has(name));
    return {
      target: readTargetName(input),
      targets: readTargets(input, settings.exclude),
      from: readFrom(input),
      words: options.readWords?.(input) ?? [],
      seed: readSeed(input),
      settings,
      division: readDivision(objectMember(input, 'partition')),
      into: input.text('into', 255),
      policy: input.oneOf('policy', COMPLETION_POLICIES) ?? 'ContinueOnPartialFailure',
      task: readMadeTasks(objectMember(input, 'task')),
      own: options.read(input),
      passed: Object.fromEntries(passed.map((name) => [name, input.raw(name)])) as JsonObject,
    };
  });
}

/** Reads the target name, which an aggregator requires. */
function readTargetName(input: Members): string | null {
  const target = input.text('target', MODEL_TARGET_CHARACTERS_MAX);
  if (input.boolean('aggregator') === false) return null;
  if (target === null && !input.has('target')) {
    input.fault(
      'target',
      'is required: the name under which models are kept; or make no aggregator with "aggregator": false',
    );
  }
  return target;
}

function readFrom(input: Members): FromModels | null {
  if (input.has('from') === input.has('targets')) {
    input.fault('targets', 'exactly one of `targets` and `from` is required');
  }
  if (Array.isArray(input.raw('targets')) && (input.raw('targets') as unknown[]).length === 0) {
    input.fault('targets', 'must name at least one target');
  }
  const from = input.has('from') ? objectMember(input, 'from') : null;
  if (from === null) return null;
  from.refuseOthers(['model', 'target', 'where', 'params']);
  from.requireAll('model');
  const model = from.text('model', 100) ?? 'none';
  if (!new RegExp(MODEL_NAME_PATTERN).test(model)) from.fault('model', `must be ${MODEL_NAME_MEANING}`);
  return {
    model,
    target: from.text('target', MODEL_TARGET_CHARACTERS_MAX),
    where: readItemExpression(from, 'where', MODEL_NAMES),
    params: (from.raw('params') ?? null) as JsonValue,
  };
}

function readDivision(partition: Members | null): Division {
  partition?.refuseOthers(['tasks_max', 'parallelism']);
  return {
    tasks_max: partition?.integer('tasks_max', 1, TASKS_MAX) ?? TASKS_DEFAULT,
    parallelism: partition?.integer('parallelism', 1, TASKS_MAX) ?? PARALLELISM_DEFAULT,
  };
}

function readMadeTasks(task: Members | null): MadeTasks {
  if (task === null) return {};
  task.refuseOthers([...SETTING_MEMBERS, 'retry']);
  // Only validated here: it is passed on unchanged.
  const retry = readRetry(task) === null ? null : (task.raw('retry') as RetryOptions);
  return {
    ...readSettings(task),
    ...(retry === null ? {} : { retry }),
  };
}

/** Returns the same seed for every attempt of a task. */
export function seedOf(taskId: string): number {
  return createHash('sha256').update(taskId).digest().readUIntBE(0, 6);
}
