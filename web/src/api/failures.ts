import type { FailedTasks } from '@heddle/client';
import { queryOf } from '../data/filters.ts';
import { getJson } from './client.ts';

export function listFailures(fingerprint: string, after: string | null, signal: AbortSignal): Promise<FailedTasks> {
  return getJson(`/v1/failures${queryOf({ fingerprint, after, page_size: 50 })}`, signal);
}
