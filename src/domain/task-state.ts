/**
 * The one state machine of a task. The numbers are what the database stores; terminal states start at 10, so that a
 * guard can say `(state + 0) < 10` without giving the planner a histogram to misjudge.
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

/** The state that a stored code stands for; an unknown code is a programmer's error and throws. */
export function taskStateOf(code: number): TaskState {
  const state = STATE_BY_CODE.get(code);
  if (state === undefined) throw new Error(`unknown task state code ${code}`);
  return state;
}

export type TerminalState = 'succeeded' | 'failed' | 'timed_out' | 'partially_failed' | 'canceled' | 'disabled';

/**
 * A container is `waiting` until its turn comes, `running` until its last child ended and nobody may add more, and then
 * whatever its children make of it.
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

/** Whether a parent in this state lets a child through that requires its success; a disabled parent satisfies. */
export function satisfiesRequiredSuccess(state: TerminalState): boolean {
  return state === 'succeeded' || state === 'disabled';
}

/** Outcomes that a report may carry: how an admitted task ended. */
export type Outcome = 'succeeded' | 'failed' | 'timed_out' | 'partially_failed';

/** The state names of the Task Runner API. */
export type BatchWireState =
  'Waiting' | 'Pending' | 'Claimed' | 'Running' | 'Success' | 'Failure' | 'Canceled' | 'Paused';

/** Internal state to Task Runner wire state; total, so that a new state cannot be forgotten. */
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

/** The internal states that one wire state stands for: the derived inverse that list filters use. */
export function statesOfBatchWire(wire: BatchWireState): TaskState[] {
  return TASK_STATES.filter((state) => BATCH_WIRE_STATE[state] === wire);
}
