import { completeGenerators as complete, reevaluate as look } from '../../store/trees.ts';
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
