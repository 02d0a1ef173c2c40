import type { Model } from '@heddle/client';
import { getJson } from './client.ts';

export type ModelState = Model['state'];

export const MODEL_STATES = ['new', 'changed', 'known', 'gone'] as const satisfies readonly ModelState[];

/** One member of a model's data, before and after; null where it was absent. */
export type ModelChange = Model['changes'][number];

/** Filters; an empty string is no filter. */
export interface ModelQuery {
  model: string;
  target: string;
  state: ModelState | '';
  /** In the key, or anywhere in the data, case-insensitive. */
  search: string;
}

/** One page, newest first, after the model with that id. */
export function listModels(
  query: ModelQuery,
  page: { after: string | null; size: number },
  signal?: AbortSignal,
): Promise<Model[]> {
  const search = new URLSearchParams({ page_size: String(page.size) });
  for (const [name, value] of Object.entries(query)) if (value !== '') search.set(name, value as string);
  if (page.after !== null) search.set('after', page.after);
  return getJson(`/v1/models?${search}`, signal);
}

export function listModelTargets(size: number, signal?: AbortSignal): Promise<{ target: string }[]> {
  return getJson(`/v1/models/targets?page_size=${size}`, signal);
}
