import type { Model, ModelTarget } from '@heddle/client';
import { queryOf } from '../data/filters.ts';
import { getJson, segment } from './client.ts';
import { pageAfter } from './paging.ts';

export type ModelState = Model['state'];

const PAGE_SIZE_MAX = 100;
/** Pages that are read of what belongs to one host. */
const PAGES_MAX = 10;
const TARGETS_SHOWN = 100;

type Filters = Readonly<Partial<Record<'model' | 'target' | 'state' | 'key' | 'search', string>>>;

/** What the console asks about models. */
export const models = {
  list: (filters: Filters, after: string | null, signal: AbortSignal) =>
    pageAfter<Model>('/v1/models', filters, after, signal),
  get: (id: string, signal: AbortSignal) => getJson<Model>(`/v1/models/${segment(id)}`, signal),
  targets: (signal: AbortSignal) => getJson<ModelTarget[]>(`/v1/models/targets?page_size=${TARGETS_SHOWN}`, signal),
};

/** The newest 1,000 models at most. */
export async function readModels(filters: Filters, signal: AbortSignal): Promise<Model[]> {
  const found: Model[] = [];
  for (let page = 0, after: string | null = null; page < PAGES_MAX; page += 1) {
    const query = queryOf({ ...filters, after, page_size: PAGE_SIZE_MAX });
    const rows: Model[] = await getJson<Model[]>(`/v1/models${query}`, signal);
    found.push(...rows);
    if (rows.length < PAGE_SIZE_MAX) break;
    after = rows.at(-1)!.id;
  }
  return found;
}
