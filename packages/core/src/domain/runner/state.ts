/** States of a runner. Every transition is conditional on the previous state and the epoch. */
export const RUNNER_STATES = ['created', 'idle', 'claimed', 'running', 'terminated'] as const;

export type RunnerState = (typeof RUNNER_STATES)[number];

/** Allowed transitions. */
export const RUNNER_MOVES = {
  created: ['idle', 'claimed', 'terminated'],
  idle: ['claimed', 'terminated'],
  claimed: ['running', 'idle', 'claimed', 'terminated'],
  running: ['idle', 'claimed', 'terminated'],
  terminated: [],
} as const satisfies Record<RunnerState, readonly RunnerState[]>;

/** Codes in the database. */
export const RUNNER_STATE_CODES = {
  created: 0,
  idle: 1,
  claimed: 2,
  running: 3,
  terminated: 4,
} as const satisfies Record<RunnerState, number>;

/** States of a request: it waits until it is granted, and may end in either state. */
export const REQUEST_STATES = ['waiting', 'granted', 'ended'] as const;

export type RequestState = (typeof REQUEST_STATES)[number];

export const REQUEST_STATE_CODES = {
  waiting: 0,
  granted: 1,
  ended: 2,
} as const satisfies Record<RequestState, number>;

/**
 * Why a request found no runner, by code. `global`: no runner is idle. `local`: no idle runner fits this request.
 * `uncertain`: the search was incomplete.
 */
export const EXHAUSTIONS = ['global', 'local', 'uncertain'] as const;

export type Exhaustion = (typeof EXHAUSTIONS)[number];
