import type { TrackedModel } from '@heddle/core/domain/model-record';
import type { Models } from '@heddle/core/engine/port';
import type { ModelTargets } from './aims.ts';
import { ItemEvaluation } from '../items/item-expression.ts';
import { modelMembers } from '../items/model-item.ts';
import type { FromModels } from './generator-input.ts';

export interface ReadingOptions {
  models: Pick<Models, 'list'>;
  from: FromModels;
  targetsOf: (model: TrackedModel) => Partial<ModelTargets>;
  /** Milliseconds since the epoch: the value of `now` in the expression. */
  now: number;
  signal: AbortSignal;
  /** Called after each page. */
  read: (count: number) => Promise<void>;
}

const PAGE_MODELS = 1000;
const MODEL_TARGETS_MAX = 500_000;

/**
 * Returns the distinct targets of models that are not gone and match the expression, read page by page.
 *
 * @throws Error for more than 500,000 of them, or if the expression is neither true nor false
 */
export async function readModelTargets({
  models,
  from,
  targetsOf,
  now,
  signal,
  read,
}: ReadingOptions): Promise<ModelTargets> {
  const targets = new Set<string>();
  const endpoints = new Map<string, ModelTargets['endpoints'][number]>();
  const filter = {
    model: from.model,
    states: ['new', 'changed', 'known'] as const,
    ...(from.target === null ? {} : { target: from.target }),
  };
  const evaluation = new ItemEvaluation({ params: from.params, now: new Date(now), signal });
  for (let after: string | null = null; ;) {
    signal.throwIfAborted();
    const page: TrackedModel[] = await models.list(filter, { after, limit: PAGE_MODELS });
    for (const model of page) {
      if (!(await fits(model, from, evaluation))) continue;
      const found = targetsOf(model);
      for (const target of found.targets ?? []) targets.add(target);
      for (const each of found.endpoints ?? []) endpoints.set(`${each.host} ${each.ip} ${each.port}`, each);
    }
    if (targets.size + endpoints.size > MODEL_TARGETS_MAX) {
      throw new Error(
        `the models of ${from.model} give more than ${MODEL_TARGETS_MAX} targets; narrow them with from.where`,
      );
    }
    await read(page.length);
    if (page.length < PAGE_MODELS) break;
    after = page.at(-1)!.id;
  }
  return { targets: [...targets], endpoints: [...endpoints.values()] };
}

async function fits(model: TrackedModel, { where }: FromModels, evaluation: ItemEvaluation): Promise<boolean> {
  if (where === null) return true;
  const item = modelMembers(model);
  const value = await evaluation.valueOf(where, item, item);
  if (typeof value === 'boolean') return value;
  throw new Error(
    `from.where must return true or false, but returned ${JSON.stringify(value).slice(0, 100)} for ${model.key}`,
  );
}
