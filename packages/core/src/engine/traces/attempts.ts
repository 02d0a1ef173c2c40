import { findTracedAttempts, type TracedAttempt } from '../../store/traces.ts';
import type { EngineContext } from '../context.ts';
import type { TransitionOutcome } from '../port.ts';
import type { AttemptEnd } from './traces.ts';

/** Returns the open attempts with a trace among these tasks, before they end. Costs nothing while tracing is off. */
export async function openAttempts(
  context: EngineContext,
  ids: readonly string[],
): Promise<ReadonlyMap<string, TracedAttempt>> {
  if (context.traces === null || ids.length === 0) return NONE;
  const attempts = await findTracedAttempts(context.database, ids, context.now());
  return new Map(attempts.map((attempt) => [attempt.id, attempt]));
}

const NONE: ReadonlyMap<string, TracedAttempt> = new Map();

/** Records the attempts that a transition ended, each once; `endOf` returns the end by index of the outcome. */
export function recordEnds(
  context: EngineContext,
  open: ReadonlyMap<string, TracedAttempt>,
  outcomes: readonly TransitionOutcome[],
  endOf: (index: number) => AttemptEnd,
): void {
  if (open.size === 0) return;
  const left = new Map(open);
  const ended = outcomes.flatMap(({ task_id, result }, index) => {
    const attempt = left.get(task_id);
    left.delete(task_id);
    if (attempt === undefined || (result !== 'applied' && result !== 'retrying')) return [];
    return [{ attempt, end: { ...endOf(index), retrying: result === 'retrying' } }];
  });
  context.observer.attemptsEnded(ended);
}

/** Records attempts that ended without a report, all with the same end. */
export function recordUnreported(
  context: EngineContext,
  attempts: readonly TracedAttempt[] | null | undefined,
  outcome: 'timed_out' | 'failed' | 'lost' | 'handed_back',
): void {
  if (context.traces === null || attempts === null || attempts === undefined) return;
  const ended = attempts.map((attempt) => ({ attempt, end: { outcome, retrying: attempt.retrying ?? false } }));
  context.observer.attemptsEnded(ended);
}
