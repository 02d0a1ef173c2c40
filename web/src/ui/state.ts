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

/** The words for the outcomes of attempts. */
const OUTCOME: Readonly<Record<string, State>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  timed_out: 'timeout',
  partially_failed: 'partial',
  canceled: 'canceled',
  disabled: 'skipped',
  lost: 'failed',
  released: 'skipped',
  undelivered: 'failed',
};

/** The state that stands for the outcome of an attempt; of one that has not ended `running`. */
export function stateOfOutcome(outcome: string | null): State {
  return OUTCOME[outcome ?? ''] ?? 'running';
}

/** The state of a task of a workflow, for which the API returns the outcome and, until then, what it waits for. */
export function stateOfTreeTask({ state, status }: { state: string; status: string }): State {
  if (status === 'Canceled' && state === 'Failed') return 'canceled';
  const outcome = stateOf(state);
  return STATE[outcome].ended || outcome === 'creating' ? outcome : stateOf(status);
}

/** Ends first, so that a bar fills from the left. */
const BAR_ORDER: readonly State[] = [
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

/** A count of states; `open`: not ended, in a state that is not known. */
export type Tally = Readonly<Partial<Record<State | 'open', number>>>;

/** The parts of a tally that are not empty, in the order of a bar. */
export function partsOf(tally: Tally): { state: State | 'open'; n: number; label: string }[] {
  return [...BAR_ORDER, 'open' as const]
    .map((state) => ({
      state,
      n: tally[state] ?? 0,
      label: state === 'open' ? 'unfinished' : STATE[state].label.toLowerCase(),
    }))
    .filter(({ n }) => n > 0);
}

export function totalOf(tally: Tally): number {
  return partsOf(tally).reduce((sum, { n }) => sum + n, 0);
}

/** How many of them have ended. */
export function endedOf(tally: Tally): number {
  return partsOf(tally).reduce((sum, { state, n }) => (state !== 'open' && STATE[state].ended ? sum + n : sum), 0);
}
