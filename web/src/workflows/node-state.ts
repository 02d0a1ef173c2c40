/** The states of tasks and containers in the workflow API, in the order of a node's life. */
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
  Pending: 'waiting for its container or for a worker',
  Running: 'running',
  PendingTaskCreation: 'completed; its announced tasks are being created',
  Succeeded: 'succeeded',
  PartiallyFailed: 'finished with tolerated failures',
  Failed: 'failed or canceled',
  Timeout: 'exceeded its timeout',
  Disabled: 'skipped, does not count',
};

/** The part of a class name for a state: `s-running`, `mark-running`. */
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

/** Final states first, so that a bar fills from the left. */
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

/** States that may need attention, worst first. */
export const BAD_STATES: readonly NodeState[] = ['Failed', 'Timeout', 'PartiallyFailed'];

const OPEN: ReadonlySet<NodeState> = new Set<NodeState>(['Pending', 'Running', 'PendingTaskCreation']);

/** Whether this state is final, except for a retry. */
export function isEnd(state: NodeState): boolean {
  return !OPEN.has(state);
}

export function stateFromWire(value: string | null | undefined): NodeState {
  return NODE_STATES.find((state) => state === value) ?? 'Pending';
}
