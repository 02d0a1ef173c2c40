import type { BasicTask, Run, Workflow } from './wire.ts';
import type { Style } from '@heddle/base/terminal/output';

export type Status = BasicTask['status'];
export type WorkflowState = Workflow['state'];

export interface StatusLook {
  symbol: string;
  style: Style;
}

/** Style of each status, in the order of counts. */
export const STATUS_LOOKS: Readonly<Record<Status, StatusLook>> = {
  Success: { symbol: '✔', style: 'green' },
  Failure: { symbol: '✖', style: 'red' },
  Canceled: { symbol: '⊘', style: 'magenta' },
  Running: { symbol: '▶', style: 'cyan' },
  Claimed: { symbol: '▷', style: 'cyan' },
  Pending: { symbol: '●', style: 'yellow' },
  Paused: { symbol: '‖', style: 'blue' },
  Waiting: { symbol: '◌', style: 'gray' },
};

export const STATUSES = Object.keys(STATUS_LOOKS) as readonly Status[];

/** Style of each state of a workflow's nodes, in the order of counts. */
export const STATE_LOOKS: Readonly<Record<WorkflowState, StatusLook>> = {
  Succeeded: { symbol: '✔', style: 'green' },
  PartiallyFailed: { symbol: '◐', style: 'yellow' },
  Failed: { symbol: '✖', style: 'red' },
  Timeout: { symbol: '⧖', style: 'red' },
  Disabled: { symbol: '⊘', style: 'gray' },
  Running: { symbol: '▶', style: 'cyan' },
  PendingTaskCreation: { symbol: '⊕', style: 'cyan' },
  Pending: { symbol: '◌', style: 'gray' },
};

/** Style of each state of a run. */
export const RUN_LOOKS: Readonly<Record<Run['state'], StatusLook>> = {
  Succeeded: STATE_LOOKS.Succeeded,
  PartiallyFailed: STATE_LOOKS.PartiallyFailed,
  Failed: STATE_LOOKS.Failed,
  TimedOut: STATE_LOOKS.Timeout,
  Canceled: STATUS_LOOKS.Canceled,
  Disabled: STATE_LOOKS.Disabled,
  Running: STATE_LOOKS.Running,
  Paused: STATUS_LOOKS.Paused,
  Waiting: STATUS_LOOKS.Waiting,
};

export const STATES = Object.keys(STATE_LOOKS) as readonly WorkflowState[];

/** The names that a display shows. */
export interface Vocabulary {
  /** In the order of counts. */
  looks: Readonly<Record<string, StatusLook>>;
  underWay: ReadonlySet<string>;
  ended: ReadonlySet<string>;
  success: string;
  /** The noun for the whole. */
  noun: 'batch' | 'workflow';
}

export const BATCH_WORDS: Vocabulary = {
  looks: STATUS_LOOKS,
  underWay: new Set<Status>(['Running', 'Claimed']),
  ended: new Set<Status>(['Success', 'Failure', 'Canceled']),
  success: 'Success',
  noun: 'batch',
};

export const WORKFLOW_WORDS: Vocabulary = {
  looks: STATE_LOOKS,
  underWay: new Set<WorkflowState>(['Running', 'PendingTaskCreation']),
  ended: new Set<WorkflowState>(['Succeeded', 'PartiallyFailed', 'Failed', 'Timeout', 'Disabled']),
  success: 'Succeeded',
  noun: 'workflow',
};

export type StatusCounts = Partial<Record<string, number>>;

/** Formats `2 Running, 1 Waiting`, in the order of the styles; omits names without tasks. */
export function countsInWords(counts: StatusCounts, { looks }: Vocabulary): string {
  const shown = Object.keys(looks).filter((name) => (counts[name] ?? 0) > 0);
  return shown.map((name) => `${counts[name] ?? 0} ${name}`).join(', ');
}
