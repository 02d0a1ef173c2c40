/**
 * State machine of a task. The numbers are those stored in the database; terminal states start at 10, so that a guard
 * can say `(state + 0) < 10` without giving the planner a histogram to misjudge.
 */
export const TASK_STATE_CODE = {
  waiting: 0,
  pending: 1,
  claimed: 2,
  running: 3,
  expanding: 4,
  paused: 5,
  succeeded: 10,
  failed: 11,
  timed_out: 12,
  partially_failed: 13,
  canceled: 14,
  disabled: 15,
} as const;

export type TaskState = keyof typeof TASK_STATE_CODE;

export const TASK_STATES = Object.keys(TASK_STATE_CODE) as readonly TaskState[];

const STATE_BY_CODE = new Map<number, TaskState>(TASK_STATES.map((state) => [TASK_STATE_CODE[state], state]));

/** Returns the state of a stored code; throws on an unknown code, which is a programming error. */
export function taskStateOf(code: number): TaskState {
  const state = STATE_BY_CODE.get(code);
  if (state === undefined) throw new Error(`unknown task state code ${code}`);
  return state;
}

export type TerminalState = 'succeeded' | 'failed' | 'timed_out' | 'partially_failed' | 'canceled' | 'disabled';

/**
 * A container is `waiting` until it may start, `running` until its last child has ended and no generator can add more,
 * and then in the state derived from its children.
 */
export type ContainerState = 'waiting' | 'running' | Exclude<TerminalState, 'canceled'>;

export const TERMINAL_STATES = [
  'succeeded',
  'failed',
  'timed_out',
  'partially_failed',
  'canceled',
  'disabled',
] as const satisfies readonly TerminalState[];

export function isTerminal(state: TaskState): state is TerminalState {
  return TASK_STATE_CODE[state] >= 10;
}

export function containerEnded(state: ContainerState): boolean {
  return TASK_STATE_CODE[state] >= 10;
}

/** Returns whether a parent in this state satisfies a child that requires its success; a disabled parent does. */
export function satisfiesRequiredSuccess(state: TerminalState): boolean {
  return state === 'succeeded' || state === 'disabled';
}

/** Outcomes that a report may carry. */
export type Outcome = 'succeeded' | 'failed' | 'timed_out' | 'partially_failed';

/** State names of the Task Runner API. */
export type BatchWireState =
  'Waiting' | 'Pending' | 'Claimed' | 'Running' | 'Success' | 'Failure' | 'Canceled' | 'Paused';

/** Maps internal states to Task Runner wire states; total, so that a new state cannot be forgotten. */
export const BATCH_WIRE_STATE = {
  waiting: 'Waiting',
  pending: 'Pending',
  claimed: 'Claimed',
  running: 'Running',
  expanding: 'Running',
  paused: 'Paused',
  succeeded: 'Success',
  failed: 'Failure',
  timed_out: 'Failure',
  partially_failed: 'Failure',
  canceled: 'Canceled',
  disabled: 'Canceled',
} as const satisfies Record<TaskState, BatchWireState>;

export const BATCH_WIRE_STATES = [...new Set(Object.values(BATCH_WIRE_STATE))] as readonly BatchWireState[];

/** Returns the internal states of one wire state: the derived inverse that list filters use. */
export function statesOfBatchWire(wire: BatchWireState): TaskState[] {
  return TASK_STATES.filter((state) => BATCH_WIRE_STATE[state] === wire);
}
