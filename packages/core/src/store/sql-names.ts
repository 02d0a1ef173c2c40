import { ATTEMPT_OUTCOME_CODE } from '@heddle/base/vocabulary/attempt';
import { COMPLETION_POLICY_CODE } from '@heddle/base/vocabulary/completion-policy';
import { EXHAUSTIONS, REQUEST_STATE_CODES, RUNNER_STATE_CODES } from '../domain/runner/state.ts';
import { TASK_STATE_CODE } from '@heddle/base/vocabulary/task-state';
import { CONTAINER_MODE_CODE } from '@heddle/base/vocabulary/workflow';

/** Answers to a transition, by code. */
export const TRANSITION_RESULTS = [
  'applied',
  'retrying',
  'unchanged',
  'conflict',
  'not_started',
  'stale_attempt',
  'not_found',
] as const;

/** Answers to a heartbeat or progress report, by code. */
const PROGRESS_RESULTS = ['applied', 'ended', 'not_found', 'stale_attempt'] as const;

/** Whether a generator's node can be stored, and if not, why. */
export const PLACEMENT_CODE = {
  stored: 0,
  exists: 1,
  without_generator: 2,
  generator_ended: 3,
  without_container: 4,
  container_ended: 5,
  stale_attempt: 6,
} as const;

/** Types of rules that limit how many tasks run. */
const RULE_TYPE_CODE = { concurrency: 1, capacity: 2 } as const;

/** Presence of an instance in its provider's listing. */
export const INSTANCE_CODE = { gone: 0, stopping: 1, present: 2 } as const;

/** Lanes of `ready` and `blocked`; the others are kinds (positive) and claimed runners (below `runners`). */
const LANE_CODE = { webhook: 0, runners: -1 } as const;

/**
 * Stored codes by the names that SQL uses for them, as `:name`. Names of task states are also those of container
 * states.
 */
export const SQL_NAMES: ReadonlyMap<string, number> = new Map([
  ...Object.entries(TASK_STATE_CODE),
  // The terminal states are this one and all above it.
  ['terminal', TASK_STATE_CODE.succeeded],
  ...prefixed('attempt', ATTEMPT_OUTCOME_CODE),
  ...prefixed('runner', RUNNER_STATE_CODES),
  ...prefixed('request', REQUEST_STATE_CODES),
  ...prefixed('instance', INSTANCE_CODE),
  ...prefixed('result', codesOf(TRANSITION_RESULTS)),
  ...prefixed('progress', codesOf(PROGRESS_RESULTS)),
  ...prefixed('node', PLACEMENT_CODE),
  ...prefixed('rule', RULE_TYPE_CODE),
  ...prefixed('lane', LANE_CODE),
  ...prefixed('exhausted', codesOf(EXHAUSTIONS)),
  ...prefixed('source', { task: 0, holder: 1 }),
  ...prefixed('timeout_since', { start: 0, activity: 1 }),
  ...Object.entries(CONTAINER_MODE_CODE),
  ['fail_on_failure', COMPLETION_POLICY_CODE.FailOnFailure],
  ['continue_on_partial_failure', COMPLETION_POLICY_CODE.ContinueOnPartialFailure],
  ['continue_on_failure', COMPLETION_POLICY_CODE.ContinueOnFailure],
]);

const LITERAL = /'(?:[^']|'')*'|"[^"]*"/;
const COMMENT = /--.*|\/\*[^]*?\*\//;
/** Neither `::type` nor the second bound of an array slice, such as `x[first:last]`. */
const NAME = /(?<![:\w\])]):([a-z_]\w*)/;
const TOKENS = new RegExp(`${LITERAL.source}|${COMMENT.source}|${NAME.source}`, 'g');

/**
 * Replaces the names of codes in SQL, outside literals and comments.
 *
 * @throws Error for an unknown name, which is a programming error
 */
export function withCodes(sql: string): string {
  return sql.replaceAll(TOKENS, (text, name: string | undefined) => {
    if (name === undefined) return text;
    const code = SQL_NAMES.get(name);
    if (code === undefined) throw new Error(`unknown name :${name} in SQL; store/sql-names.ts has the names of codes`);
    return String(code);
  });
}

function codesOf<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name, code) => [name, code])) as Record<Name, number>;
}

function prefixed(prefix: string, codes: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(codes).map(([name, code]) => [`${prefix}_${name}`, code]);
}
