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

export function stateFromWire(value: string | null | undefined): NodeState {
  return NODE_STATES.find((state) => state === value) ?? 'Pending';
}
