import type { BasicTask } from '@heddle/client';
import { queryOf } from '../data/filters.ts';
import { getJson } from './client.ts';

export const TASKS_PER_PAGE = 100;

export function listTasks(
  filters: Readonly<Record<string, string>>,
  page: number,
  signal: AbortSignal,
): Promise<BasicTask[]> {
  return getJson(`/task${queryOf({ ...filters, page, page_size: TASKS_PER_PAGE })}`, signal);
}
