import { getJson } from './client.ts';

export const MODEL_STATES = ['new', 'changed', 'known', 'gone'] as const;
export type ModelState = (typeof MODEL_STATES)[number];

/** One member of a model's data, before and after; null where it was absent. */
export interface ModelChange {
  field: string;
  old: unknown;
  new: unknown;
}

/** A model that scans observed, over all runs of its target. Times are ISO 8601 strings. */
export interface Model {
  id: string;
  target: string;
  /** Type of the model: `host`, `service`, … */
  model: string;
  key: string;
  data: Readonly<Record<string, unknown>>;
  state: ModelState;
  runs: number;
  first_seen: string;
  last_seen: string;
  changed_at: string;
  gone_at: string | null;
  first_run: number;
  last_run: number;
  changed_run: number;
  changes: readonly ModelChange[];
}

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
