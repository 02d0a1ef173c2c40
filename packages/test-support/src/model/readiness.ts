import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import { tolerates, type CompletionPolicy } from '@heddle/base/vocabulary/completion-policy';

/**
 * State of one dependency for its child: `open`: the parent has not ended, so the child must wait; `closed`: the parent
 * ended and lets the child start; `broken`: the parent ended without the success that the child requires and its policy
 * does not tolerate it.
 */
export type Gate = 'open' | 'closed' | 'broken';

export function gateOf(
  parentState: TaskState,
  requiresSuccess: boolean,
  policy: CompletionPolicy = 'FailOnFailure',
): Gate {
  if (!isTerminal(parentState)) return 'open';
  return requiresSuccess && !tolerates(policy, parentState) ? 'broken' : 'closed';
}

/** Counts the parents that have not ended. A broken gate counts as closed, since no child waits for it any more. */
export function countOpenGates(parentStates: Iterable<TaskState>): number {
  let open = 0;
  for (const state of parentStates) if (!isTerminal(state)) open += 1;
  return open;
}

/** Returns the state of a task without an open attempt: the single place where gates become a state. */
export function restingState(openGates: number): 'waiting' | 'pending' {
  return openGates > 0 ? 'waiting' : 'pending';
}
