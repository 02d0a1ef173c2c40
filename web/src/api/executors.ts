import type { Executor } from '@heddle/client';
import { getJson } from './client.ts';

export type ExecutorState = Executor['state'];

/** A task as reported by its executor. */
export type RecentTask = NonNullable<Executor['status']>['recent'][number];

export function listExecutors(signal: AbortSignal): Promise<Executor[]> {
  return getJson('/v1/executors', signal);
}
