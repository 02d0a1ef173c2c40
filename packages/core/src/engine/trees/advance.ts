import { HeddleError } from '@heddle/base/errors';
import { findWorkflow } from '../../store/task-reads.ts';
import { retryTasks } from '../../store/transitions.ts';
import { completeGenerators as complete, findRetryable, pauseWorkflow, reevaluate as look } from '../../store/trees.ts';
import type { EngineContext } from '../context.ts';

/** Ends generators whose announced nodes all exist; returns the workflows that changed, at most 17 per set. */
export async function completeGenerators(context: EngineContext, limit: number): Promise<string[]> {
  const moved = await complete(context.database, limit, context.random.next(), context.now());
  if (moved === null) return [];
  await context.observer.moved({ ...moved, codes: null });
  return moved.workflows ?? [];
}

/**
 * Reevaluates the open containers of some workflows; locks nothing if their counts are consistent.
 *
 * @param tasks restricts it to the root containers and those above these tasks; null: all containers
 */
export async function reevaluate(
  context: EngineContext,
  ids: readonly string[],
  tasks: readonly string[] | null,
): Promise<void> {
  if (ids.length === 0) return;
  const moved = await look(context.database, [...new Set(ids)], tasks, context.now());
  if (moved === null) return;
  context.log.warn({ workflows: moved.workflows }, 'reconciliation advanced stalled containers');
  await context.observer.moved(moved);
}

/** Pauses or resumes a workflow; returns the number of tasks changed, or null if there is no such workflow. */
export async function setPaused(context: EngineContext, id: string, paused: boolean): Promise<number | null> {
  const moved = await pauseWorkflow(context.database, id, paused, context.now());
  if (moved === null) return (await findWorkflow(context.database, id)) === null ? null : 0;
  await context.observer.moved({ ...moved, codes: null });
  return moved.codes?.filter((code) => code === 0).length ?? 0;
}

/** Reopens failed nodes of a workflow, archived ones included; returns the number of tasks. */
export async function retryWorkflow(context: EngineContext, id: string): Promise<number | null> {
  const workflow = await findWorkflow(context.database, id);
  if (workflow === null) return null;
  if (workflow.root_state !== null && workflow.remaining > 0) {
    throw new HeddleError(
      'CONFLICT',
      `${workflow.remaining} tasks of the workflow have not ended; wait for them, or cancel the workflow`,
    );
  }
  const ids = await findRetryable(context.database, id);
  if (ids.length === 0) return 0;
  const moved = await context.database.transaction((tx) => retryTasks(tx, ids, context.now()));
  await context.observer.moved({ ...moved, codes: null });
  return moved.codes?.filter((code) => code === 0).length ?? 0;
}
