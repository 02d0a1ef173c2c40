import { cancelTasks, pauseTasks, releaseTasks, resumeTasks, type Moved } from '../store/transitions.ts';
import { TRANSITION_RESULTS } from '../store/sql-names.ts';
import { findStates } from '../store/task-reads.ts';
import type { EngineContext } from './context.ts';
import type { TransitionOutcome } from './port.ts';
import { openAttempts, recordEnds } from './traces/attempts.ts';

type Operation = (ids: readonly string[]) => Promise<Moved>;

/** Runs a transition on a set of tasks, each once; returns an outcome for each id. */
export async function operate(
  context: EngineContext,
  ids: readonly string[],
  operation: Operation,
): Promise<TransitionOutcome[]> {
  const distinct = [...new Set(ids)];
  if (distinct.length === 0) return [];
  const moved = await operation(distinct);
  await context.observer.moved({ ...moved, codes: null });
  const codes = new Map(distinct.map((id, index) => [id, moved.codes?.[index] ?? 0]));
  const states = await findStates(context.database, distinct);
  return ids.map((task_id) => ({
    task_id,
    result: TRANSITION_RESULTS[codes.get(task_id)!]!,
    state: states.get(task_id) ?? null,
  }));
}

export async function cancel(
  context: EngineContext,
  ids: readonly string[],
  reason: string,
): Promise<TransitionOutcome[]> {
  const open = await openAttempts(context, ids);
  const outcomes = await operate(context, ids, (set) => cancelTasks(context.database, set, reason, context.now()));
  recordEnds(context, open, outcomes, () => ({ outcome: 'canceled' }));
  return outcomes;
}

export function pause(context: EngineContext, ids: readonly string[]): Promise<TransitionOutcome[]> {
  return operate(context, ids, (set) => pauseTasks(context.database, set, context.now()));
}

export function resume(context: EngineContext, ids: readonly string[]): Promise<TransitionOutcome[]> {
  return operate(context, ids, (set) => resumeTasks(context.database, set, context.now()));
}

/** Releases the slots of canceled attempts without a report. */
export function releaseCanceled(context: EngineContext, ids: readonly string[]): Promise<TransitionOutcome[]> {
  return operate(context, ids, (set) => releaseTasks(context.database, set));
}
