import type { TrackedModel } from '../../domain/model-record.ts';
import type { Models } from '../../engine/port.ts';
import type { Aims } from './aims.ts';
import { ItemEvaluation } from '../items/item-expression.ts';
import { modelMembers } from '../items/model-item.ts';
import type { FromModels } from './generator-input.ts';

export interface ReadingOptions {
  models: Pick<Models, 'list'>;
  from: FromModels;
  aim: (model: TrackedModel) => Partial<Aims>;
  /** Milliseconds since the epoch: the value of `now` in the expression. */
  now: number;
  signal: AbortSignal;
  /** Called after each page. */
  read: (count: number) => Promise<void>;
}

const PAGE_MODELS = 1000;
const AIMS_MAX = 500_000;

/**
 * Returns the distinct targets of models that are not gone and match the expression, read page by page.
 *
 * @throws Error for more than 500,000 of them, or if the expression is neither true nor false
 */
export async function readAims({ models, from, aim, now, signal, read }: ReadingOptions): Promise<Aims> {
  const targets = new Set<string>();
  const endpoints = new Map<string, Aims['endpoints'][number]>();
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
      const aims = aim(model);
      for (const target of aims.targets ?? []) targets.add(target);
      for (const each of aims.endpoints ?? []) endpoints.set(`${each.host} ${each.ip} ${each.port}`, each);
    }
    if (targets.size + endpoints.size > AIMS_MAX) {
      throw new Error(`the models of ${from.model} give more than ${AIMS_MAX} targets; narrow them with from.where`);
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
