import type { JsonObject, JsonValue } from '@heddle/base/json';
import {
  MODEL_NAME_MEANING,
  MODEL_NAME_PATTERN,
  MODEL_STATES,
  MODEL_TARGET_CHARACTERS_MAX,
  type ModelFilter,
  type ModelState,
  type TrackedModel,
} from '@heddle/core/domain/model-record';
import type { Members } from '@heddle/base/parse/members';
import type { Models } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import { defineKind, type KindContext } from '@heddle/kit';
import { schemaOf, textsMember } from '../definition/input-schema.ts';
import { ItemEvaluation, readItemExpression, type ItemExpression } from '../items/item-expression.ts';
import { MODEL_NAMES, modelMembers } from '../items/model-item.ts';
import { ItemCollector } from './item-collector.ts';
import { FILTER_CHANGES_KIND, FILTER_MODELS_KIND, LIST_KIND } from './kind-names.ts';
import { LatestRuns } from './latest-runs.ts';

export interface ModelKindsOptions {
  models: Models;
  clock: Clock;
}

const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = 10_000;
const PAGE_MODELS = 500;
const CHANGE_STATES = ['new', 'changed', 'gone'] as const satisfies readonly ModelState[];

interface ModelsInput {
  filter: ModelFilter;
  where: ItemExpression | null;
  params: JsonValue;
  limit: number;
}

const MEMBERS = ['model', 'target', 'states', 'where', 'params', 'limit'] as const;

const listSchema = schemaOf<ModelsInput, JsonObject>((input) => {
  input.requireAll('model');
  return readInput(input, MODEL_STATES, null);
});

const filterSchema = schemaOf<ModelsInput, JsonObject>((input) => {
  input.requireAll('model', 'where');
  return readInput(input, MODEL_STATES, null);
});

const changesSchema = schemaOf<ModelsInput, JsonObject>((input) => readInput(input, CHANGE_STATES, CHANGE_STATES));

function readInput(
  input: Members,
  allowed: readonly ModelState[],
  fallback: readonly ModelState[] | null,
): ModelsInput {
  input.refuseOthers(MEMBERS);
  const model = input.text('model', 100);
  if (model !== null && !new RegExp(MODEL_NAME_PATTERN).test(model))
    input.fault('model', `must be ${MODEL_NAME_MEANING}`);
  const target = input.text('target', MODEL_TARGET_CHARACTERS_MAX);
  const states = readStates(input, allowed) ?? fallback;
  return {
    filter: {
      ...(model === null ? {} : { model }),
      ...(target === null ? {} : { target }),
      ...(states === null ? {} : { states }),
    },
    where: readItemExpression(input, 'where', MODEL_NAMES),
    params: (input.raw('params') ?? null) as JsonValue,
    limit: input.integer('limit', 1, LIMIT_MAX) ?? LIMIT_DEFAULT,
  };
}

function readStates(input: Members, allowed: readonly ModelState[]): ModelState[] | null {
  const given = textsMember(input, 'states', { max: allowed.length, maxChars: 20 });
  if (given === undefined) return null;
  const unknown = given.find((state) => !allowed.some((each) => each === state));
  if (unknown !== undefined) input.fault('states', `must be among ${allowed.join(', ')}, not "${unknown}"`);
  if (given.length === 0) input.fault('states', `must name some of ${allowed.join(', ')}`);
  return given as ModelState[];
}

/** `ListModels`: returns the models of one sort, newest first, filtered by `where`. */
export function listModels(options: ModelKindsOptions) {
  return defineKind({
    name: LIST_KIND,
    input: listSchema,
    timeout_secs: 600,
    run: (input, context) => readModels(options, input, context, () => Promise.resolve(true)),
  });
}

/** `FilterModels`: the same, with a required expression. */
export function filterModels(options: ModelKindsOptions) {
  return defineKind({
    name: FILTER_MODELS_KIND,
    input: filterSchema,
    timeout_secs: 600,
    run: (input, context) => readModels(options, input, context, () => Promise.resolve(true)),
  });
}

/** `FilterChanges`: returns what became new, changed or gone in the latest run of its target. */
export function filterChanges(options: ModelKindsOptions) {
  return defineKind({
    name: FILTER_CHANGES_KIND,
    input: changesSchema,
    timeout_secs: 600,
    run: (input, context) => {
      const latest = new LatestRuns(options.models, input.filter);
      return readModels(options, input, context, (model) => latest.changed(model));
    },
  });
}

async function readModels(
  { models, clock }: ModelKindsOptions,
  { filter, where, params, limit }: ModelsInput,
  { signal, progress }: KindContext,
  wanted: (model: TrackedModel) => Promise<boolean>,
) {
  const gathered = new ItemCollector(limit);
  const evaluation = new ItemEvaluation({ params, now: new Date(clock.now()), signal });
  let total = 0;
  for (let after: string | null = null; ;) {
    signal.throwIfAborted();
    const page: TrackedModel[] = await models.list(filter, { after, limit: PAGE_MODELS });
    for (const model of page) {
      if (!(await wanted(model))) continue;
      total += 1;
      const item = itemOf(model);
      if (where === null || (await evaluation.accepts(where, item, modelMembers(model)))) gathered.add(item);
    }
    await progress(page.length);
    if (page.length < PAGE_MODELS) break;
    after = page.at(-1)!.id;
  }
  return { items: gathered.items, matched: gathered.matched, total, omitted: gathered.omitted };
}

function itemOf(model: TrackedModel): JsonObject {
  const { id, target, key, data, state, runs, gone_at } = model;
  return {
    id,
    target,
    model: model.model,
    key,
    data,
    state,
    runs,
    first_seen: isoTime(model.first_seen),
    last_seen: isoTime(model.last_seen),
    changed_at: isoTime(model.changed_at),
    gone_at: gone_at === null ? null : isoTime(gone_at),
    changes: model.changes.map((change) => ({ ...change })),
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
