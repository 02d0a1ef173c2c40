import { markLeft, markPresent, type PresenceRow } from '../store/overview/workers.ts';
import type { EngineContext } from './context.ts';

/** A process that runs tasks; `holder` is the name in its claims. */
export type WorkerPresence = PresenceRow;

/** Records that these workers are alive; the last entry of a worker counts. */
export async function present(
  { database, now }: Pick<EngineContext, 'database' | 'now'>,
  workers: readonly WorkerPresence[],
): Promise<void> {
  const last = new Map(workers.map((worker) => [worker.holder, worker]));
  if (last.size > 0) await markPresent(database, [...last.values()], now());
}

/** Records that a worker stopped in order. */
export async function leave({ database, now }: Pick<EngineContext, 'database' | 'now'>, holder: string): Promise<void> {
  await markLeft(database, holder, now());
}
