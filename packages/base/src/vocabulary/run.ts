import type { TaskId, WorkflowId } from '../ids.ts';
import type { ContainerState, TaskState, TerminalState } from './task-state.ts';

/** A run is a batch or a workflow. */
export const RUN_TYPES = ['batch', 'workflow'] as const;
export type RunType = (typeof RUN_TYPES)[number];

/** Number of tasks of a run by how they ended; `failed` includes those that timed out or failed partially. */
export interface RunCounts {
  total: number;
  /** Tasks that have not ended. */
  remaining: number;
  succeeded: number;
  failed: number;
  canceled: number;
  /** Disabled by the submitter, by a branch or by a stopped sequence. */
  skipped: number;
}

/** Kinds that are stored of a run, in the order in which its tasks introduced them. Later ones are not found by kind. */
export const RUN_KINDS_MAX = 100;

export type RunState = 'waiting' | 'running' | 'paused' | TerminalState;

/** State names of runs in the API: one set for batches and workflows. */
export type RunWireState =
  'Waiting' | 'Running' | 'Paused' | 'Succeeded' | 'Failed' | 'TimedOut' | 'PartiallyFailed' | 'Canceled' | 'Disabled';

/** Total, so that a new state cannot be forgotten. */
export const RUN_WIRE_STATE = {
  waiting: 'Waiting',
  running: 'Running',
  paused: 'Paused',
  succeeded: 'Succeeded',
  failed: 'Failed',
  timed_out: 'TimedOut',
  partially_failed: 'PartiallyFailed',
  canceled: 'Canceled',
  disabled: 'Disabled',
} as const satisfies Record<RunState, RunWireState>;

const RUN_STATES = Object.keys(RUN_WIRE_STATE) as readonly RunState[];
export const RUN_WIRE_STATES = Object.values(RUN_WIRE_STATE) as readonly RunWireState[];

export function runStateOfWire(wire: RunWireState): RunState {
  return RUN_STATES.find((state) => RUN_WIRE_STATE[state] === wire)!;
}

/**
 * Returns the state of a run whose tasks have ended. A workflow is in the state of its root, whose policies decide what
 * a failure means; containers know no cancellation, so a root that only canceled tasks kept from success is canceled. A
 * batch has no policies: one failure is a failure of the batch, a partial one if anything succeeded.
 *
 * @param root state of the root container; null for a batch
 */
export function runOutcome(counts: Omit<RunCounts, 'total' | 'remaining'>, root: ContainerState | null): TerminalState {
  const { succeeded, failed, canceled, skipped } = counts;
  if (root !== null && root !== 'waiting' && root !== 'running') {
    const isBad = root === 'failed' || root === 'partially_failed';
    return isBad && failed === 0 && canceled > 0 ? 'canceled' : root;
  }
  if (failed > 0) return succeeded > 0 ? 'partially_failed' : 'failed';
  if (canceled > 0) return 'canceled';
  return skipped > 0 && succeeded === 0 ? 'disabled' : 'succeeded';
}

/**
 * Returns the state of a run.
 *
 * @param outcome state in which it ended; null while tasks are open
 * @param begun whether an attempt of any of its tasks has started
 */
export function runState({
  outcome,
  counts,
  paused,
  begun,
}: {
  outcome: TerminalState | null;
  counts: RunCounts;
  paused: boolean;
  begun: boolean;
}): RunState {
  if (outcome !== null) return outcome;
  if (paused) return 'paused';
  return begun || counts.succeeded + counts.failed + counts.canceled > 0 ? 'running' : 'waiting';
}

/**
 * Returns the name of a run, or else one made of its kinds: `fetch, invoice and 1 more`.
 *
 * @param kinds at least the first two
 */
export function runTitle(name: string | null, type: RunType, kinds: readonly string[], kindCount: number): string {
  if (name !== null) return name;
  const [first, second] = kinds;
  if (first === undefined) return type === 'batch' ? 'Batch' : 'Workflow';
  if (second === undefined) return first;
  return kindCount === 2 ? `${first} and ${second}` : `${first}, ${second} and ${kindCount - 2} more`;
}

/** Kinds that a run is shown with. */
export const RUN_KINDS_SHOWN = 20;

/** A batch or a workflow as lists show it. Times are milliseconds since the epoch. */
export interface Run {
  id: WorkflowId;
  type: RunType;
  name: string | null;
  /** Its name, or else one made of its kinds. */
  title: string;
  state: RunState;
  counts: RunCounts;
  /** Why its first failed task failed. */
  reason: string | null;
  failed_task: { id: TaskId; name: string } | null;
  /** Job that started it. */
  job: { id: string; name: string } | null;
  /** In the order of its tasks, at most RUN_KINDS_SHOWN. */
  kinds: string[];
  created_at: number;
  /** When the first of its tasks started. */
  started_at: number | null;
  ended_at: number | null;
  archived: boolean;
}

/** State names of the tasks and containers of a run, where the API shows both: one set, those of runs included. */
export type NodeWireState = RunWireState | 'Pending' | 'Claimed';

/** Total, so that a new state cannot be forgotten. */
export const NODE_WIRE_STATE = {
  ...RUN_WIRE_STATE,
  pending: 'Pending',
  claimed: 'Claimed',
  expanding: 'Running',
} as const satisfies Record<TaskState, NodeWireState>;

export const NODE_WIRE_STATES = [...new Set(Object.values(NODE_WIRE_STATE))] as readonly NodeWireState[];
