import canceledIcon from './icons/canceled.svg?url';
import claimedIcon from './icons/claimed.svg?url';
import failureIcon from './icons/failure.svg?url';
import pausedIcon from './icons/paused.svg?url';
import pendingIcon from './icons/pending.svg?url';
import runningIcon from './icons/running.svg?url';
import successIcon from './icons/success.svg?url';
import waitingIcon from './icons/waiting.svg?url';

/** The states of a task in the API, in the order of a task's life. */
export const STATUSES = [
  'Waiting',
  'Pending',
  'Claimed',
  'Running',
  'Paused',
  'Success',
  'Failure',
  'Canceled',
] as const;

export type Status = (typeof STATUSES)[number];

export const STATUS_ICON: Record<Status, string> = {
  Waiting: waitingIcon,
  Pending: pendingIcon,
  Claimed: claimedIcon,
  Running: runningIcon,
  Paused: pausedIcon,
  Success: successIcon,
  Failure: failureIcon,
  Canceled: canceledIcon,
};

/** Meaning of each state, for the legend's tooltips. */
export const STATUS_MEANING: Record<Status, string> = {
  Waiting: 'waits for the tasks it depends on',
  Pending: 'ready, waiting to start',
  Claimed: 'claimed, about to start',
  Running: 'running',
  Paused: 'paused until it is resumed',
  Success: 'succeeded',
  Failure: 'failed or timed out',
  Canceled: 'canceled or disabled',
};

const TERMINAL: ReadonlySet<Status> = new Set<Status>(['Success', 'Failure', 'Canceled']);

/** Whether a task in this state has ended, except for a retry by an operator. */
export function isTerminal(status: Status): boolean {
  return TERMINAL.has(status);
}

export type StatusCounts = Record<Status, number>;

export function noCounts(): StatusCounts {
  return { Waiting: 0, Pending: 0, Claimed: 0, Running: 0, Paused: 0, Success: 0, Failure: 0, Canceled: 0 };
}

export function statusFromWire(value: string): Status {
  return (STATUSES as readonly string[]).includes(value) ? (value as Status) : 'Waiting';
}
