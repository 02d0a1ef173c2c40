/** The states of tasks and containers as the API of workflows names them, in the order of a life. */
export const NODE_STATES = [
  'Pending',
  'Running',
  'PendingTaskCreation',
  'Succeeded',
  'PartiallyFailed',
  'Failed',
  'Timeout',
  'Disabled',
] as const;

export type NodeState = (typeof NODE_STATES)[number];

export const STATE_LABEL: Record<NodeState, string> = {
  Pending: 'Pending',
  Running: 'Running',
  PendingTaskCreation: 'Creating tasks',
  Succeeded: 'Succeeded',
  PartiallyFailed: 'Partially failed',
  Failed: 'Failed',
  Timeout: 'Timed out',
  Disabled: 'Disabled',
};

export const STATE_MEANING: Record<NodeState, string> = {
  Pending: 'its turn has not come, or it waits for a worker',
  Running: 'at work',
  PendingTaskCreation: 'done itself; the tasks that it announced are being created',
  Succeeded: 'finished well',
  PartiallyFailed: 'finished, with failures that its policy let pass',
  Failed: 'failed or canceled',
  Timeout: 'exceeded its time',
  Disabled: 'skipped: it does not count',
};

/** The part of a class name that stands for a state: `s-running`, `mark-running`. */
export const STATE_CLASS: Record<NodeState, string> = {
  Pending: 'waiting',
  Running: 'running',
  PendingTaskCreation: 'creating',
  Succeeded: 'success',
  PartiallyFailed: 'partial',
  Failed: 'failure',
  Timeout: 'timeout',
  Disabled: 'canceled',
};

/** Finished states first, so that a bar fills from the left. */
export const BAR_ORDER: readonly NodeState[] = [
  'Succeeded',
  'PartiallyFailed',
  'Failed',
  'Timeout',
  'Disabled',
  'Running',
  'PendingTaskCreation',
  'Pending',
];

/** States in which somebody may have to do something, worst first. */
export const BAD_STATES: readonly NodeState[] = ['Failed', 'Timeout', 'PartiallyFailed'];

const OPEN: ReadonlySet<NodeState> = new Set<NodeState>(['Pending', 'Running', 'PendingTaskCreation']);

/** Whether nothing more happens in this state, short of a retry. */
export function isEnd(state: NodeState): boolean {
  return !OPEN.has(state);
}

export function stateFromWire(value: string | null | undefined): NodeState {
  return NODE_STATES.find((state) => state === value) ?? 'Pending';
}
