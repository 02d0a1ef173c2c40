/**
 * The states that the console shows, one set for tasks, containers and runs, in the order of a life. The API has two sets
 * of words for them; `stateOf` reads both.
 */
export const STATES = [
  'waiting',
  'pending',
  'claimed',
  'running',
  'creating',
  'paused',
  'succeeded',
  'partial',
  'failed',
  'timeout',
  'canceled',
  'skipped',
] as const;

export type State = (typeof STATES)[number];

interface StateDescription {
  label: string;
  /** For legends and tooltips. */
  meaning: string;
  /** The custom property of its colour is `--status-<colour>`. */
  colour: string;
  ended: boolean;
  /** Needs attention. */
  bad: boolean;
}

export const STATE: Readonly<Record<State, StateDescription>> = {
  waiting: describe('Waiting', 'waits for earlier tasks', 'waiting', false),
  pending: describe('Pending', 'ready, waits to start', 'pending', false),
  claimed: describe('Claimed', 'claimed, about to start', 'claimed', false),
  running: describe('Running', 'running', 'running', false),
  creating: describe('Adding tasks', 'ended; its announced tasks are being created', 'creating', false),
  paused: describe('Paused', 'paused until it is resumed', 'paused', false),
  succeeded: describe('Succeeded', 'succeeded', 'success', true),
  partial: describe('Partially failed', 'ended with tolerated failures', 'partial', true, true),
  failed: describe('Failed', 'failed', 'failure', true, true),
  timeout: describe('Timed out', 'exceeded its timeout', 'timeout', true, true),
  canceled: describe('Canceled', 'canceled', 'canceled', true),
  skipped: describe('Skipped', 'skipped, does not count', 'skipped', true),
};

function describe(label: string, meaning: string, colour: string, ended: boolean, bad = false): StateDescription {
  return { label, meaning, colour, ended, bad };
}

/** The words of both APIs. */
const WIRE: Readonly<Record<string, State>> = {
  Waiting: 'waiting',
  Pending: 'pending',
  Claimed: 'claimed',
  Running: 'running',
  PendingTaskCreation: 'creating',
  Paused: 'paused',
  Success: 'succeeded',
  Succeeded: 'succeeded',
  PartiallyFailed: 'partial',
  Failure: 'failed',
  Failed: 'failed',
  Timeout: 'timeout',
  TimedOut: 'timeout',
  Canceled: 'canceled',
  Disabled: 'skipped',
  Skipped: 'skipped',
};

/** The state for a word of the API; an unknown one, of a newer server, counts as waiting. */
export function stateOf(word: string | null | undefined): State {
  return WIRE[word ?? ''] ?? 'waiting';
}

/** Ends first, so that a bar fills from the left. */
export const BAR_ORDER: readonly State[] = [
  'succeeded',
  'partial',
  'failed',
  'timeout',
  'canceled',
  'skipped',
  'running',
  'creating',
  'claimed',
  'paused',
  'pending',
  'waiting',
];
