import type { TaskState } from '@heddle/base/vocabulary/task-state';

/** Number of tasks by state; states without tasks are absent. */
export type StateTally = Partial<Record<TaskState, number>>;

/** The states that a group is in if any of its tasks is, the first that applies. */
const BY_WEIGHT = [
  'failed',
  'timed_out',
  'partially_failed',
  'canceled',
  'running',
  'expanding',
  'claimed',
  'paused',
  'pending',
  'waiting',
  'succeeded',
  'disabled',
] as const satisfies readonly TaskState[];

/** Returns the state that a group of tasks is shown in: its worst, or else what is still to come. */
export function groupState(tally: StateTally): TaskState {
  return BY_WEIGHT.find((state) => (tally[state] ?? 0) > 0) ?? 'waiting';
}

/** Returns how much a task of this state matters for the state of its group; 0 the most. */
export function weightOf(state: TaskState): number {
  return BY_WEIGHT.indexOf(state);
}
