import type { BasicTask } from '@heddle/client';
import { queryOf } from '../data/filters.ts';
import { getJson } from './client.ts';

export const TASKS_PER_PAGE = 100;

/** Returns one page of the tasks of a batch; one that is not full is the last. */
export function listTasks(
  filters: Readonly<Record<string, string>>,
  after: string | null,
  signal: AbortSignal,
): Promise<BasicTask[]> {
  return getJson(`/task${queryOf({ ...filters, after, page_size: TASKS_PER_PAGE })}`, signal);
}
