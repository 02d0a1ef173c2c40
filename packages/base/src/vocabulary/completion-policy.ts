import type { TerminalState } from './task-state.ts';

/**
 * Which ends of a task or container let the nodes after it run: the rest of its sequence in a tree, the tasks that
 * depend on it in a batch. `FailOnFailure` requires success, `ContinueOnPartialFailure` tolerates a partial failure
 * too, `ContinueOnFailure` any end. Tolerated failures are tracked.
 */
export const COMPLETION_POLICY_CODE = {
  FailOnFailure: 0,
  ContinueOnPartialFailure: 1,
  ContinueOnFailure: 2,
} as const;

export type CompletionPolicy = keyof typeof COMPLETION_POLICY_CODE;

export const COMPLETION_POLICIES = Object.keys(COMPLETION_POLICY_CODE) as readonly CompletionPolicy[];

export function policyOf(code: number): CompletionPolicy {
  const policy = COMPLETION_POLICIES.find((name) => COMPLETION_POLICY_CODE[name] === code);
  if (policy === undefined) throw new Error(`unknown completion policy code ${code}`);
  return policy;
}

/** Returns whether nodes that wait for the success of something that ended like this may run. */
export function tolerates(policy: CompletionPolicy, state: TerminalState): boolean {
  if (state === 'succeeded' || state === 'disabled') return true;
  if (state === 'partially_failed') return policy !== 'FailOnFailure';
  return policy === 'ContinueOnFailure';
}
