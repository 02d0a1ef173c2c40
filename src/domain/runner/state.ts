/** What becomes of a runner. Every change is conditional on the state before it and on the epoch. */
export const RUNNER_STATES = ['created', 'idle', 'claimed', 'running', 'terminated'] as const;

export type RunnerState = (typeof RUNNER_STATES)[number];

/** The states that each may change into; what is not here never happens. */
export const RUNNER_MOVES = {
  created: ['idle', 'claimed', 'terminated'],
  idle: ['claimed', 'terminated'],
  claimed: ['running', 'idle', 'claimed', 'terminated'],
  running: ['idle', 'claimed', 'terminated'],
  terminated: [],
} as const satisfies Record<RunnerState, readonly RunnerState[]>;

/** As tables hold them. */
export const RUNNER_STATE_CODES = {
  created: 0,
  idle: 1,
  claimed: 2,
  running: 3,
  terminated: 4,
} as const satisfies Record<RunnerState, number>;

/** What becomes of a request for runners: it waits until it is granted; either may end. */
export const REQUEST_STATES = ['waiting', 'granted', 'ended'] as const;

export type RequestState = (typeof REQUEST_STATES)[number];

export const REQUEST_STATE_CODES = {
  waiting: 0,
  granted: 1,
  ended: 2,
} as const satisfies Record<RequestState, number>;
