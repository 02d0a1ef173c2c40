import { TASK_STATE_CODE, taskStateOf, type TerminalState } from './task-state.ts';

/** Outcomes of attempts that ended although their tasks did not, by their stored codes, which no task state has. */
export const ATTEMPT_OUTCOME_CODE = {
  /** Its worker sent no heartbeat for too long. */
  lost: 20,
  /** Its worker returned it, for example because it was stopped. */
  released: 21,
  /** Its start never reached a worker or a target. */
  undelivered: 22,
} as const;

export type AttemptOutcome = TerminalState | keyof typeof ATTEMPT_OUTCOME_CODE;

export const ATTEMPT_OUTCOMES = [
  'succeeded',
  'failed',
  'timed_out',
  'partially_failed',
  'canceled',
  'disabled',
  'lost',
  'released',
  'undelivered',
] as const satisfies readonly AttemptOutcome[];

const OUTCOME_BY_CODE = new Map(
  Object.entries(ATTEMPT_OUTCOME_CODE).map(([outcome, code]) => [code as number, outcome as AttemptOutcome]),
);

/** Returns the outcome of a stored code; throws on one that is neither an outcome nor a terminal state. */
export function attemptOutcomeOf(code: number): AttemptOutcome {
  const outcome = OUTCOME_BY_CODE.get(code);
  if (outcome !== undefined) return outcome;
  if (code < TASK_STATE_CODE.succeeded) throw new Error(`unknown outcome code ${code} of an attempt`);
  return taskStateOf(code) as TerminalState;
}

/** One attempt of a task. Times in milliseconds since the epoch. */
export interface TaskAttempt {
  attempt: number;
  /** Name of the worker or server that claimed it; null if it was claimed before names were kept. */
  claimed_by: string | null;
  /** Origin of the URL that its start was sent to; null if a worker claimed it. */
  target: string | null;
  /** HTTP status of the last try to deliver its start; null without an answer. */
  target_status: number | null;
  claimed_at: number | null;
  /** Null: it did not start. */
  started_at: number | null;
  /** Null: it has not ended. */
  ended_at: number | null;
  /** Null: it has not ended. */
  outcome: AttemptOutcome | null;
  reason: string | null;
  /** Of its command; null if it ran none, or was killed. */
  exit_code: number | null;
}
