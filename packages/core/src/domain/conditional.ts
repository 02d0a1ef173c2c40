import type { JsonObject, JsonValue } from '@heddle/base/json';

/** Kind that decides which of the nodes after it run. */
export const CONDITIONAL_KIND = 'Conditional';

/** Maximum number of nodes that one branch may name. */
export const BRANCH_NODES_MAX = 1000;

export const BRANCHES = ['then', 'else'] as const;
export type Branch = (typeof BRANCHES)[number];

/** Input of a conditional after its expression was evaluated. */
export interface Decision {
  when: boolean;
  then: readonly string[];
  else: readonly string[];
}

/** Returns the names of a branch: one, several, or none; null if it is invalid. */
export function branchOf(value: JsonValue | undefined): string[] | null {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value) || value.length > BRANCH_NODES_MAX) return null;
  return value.every((name) => typeof name === 'string') ? value : null;
}

/**
 * Parses the input of a conditional that is about to run; returns a string that describes the fault if it is invalid.
 */
export function decisionOf(input: JsonObject): Decision | string {
  const { when } = input;
  if (typeof when !== 'boolean')
    return `input.when: must evaluate to true or false (got ${JSON.stringify(when ?? null).slice(0, 100)})`;
  const [taken, other] = BRANCHES.map((branch) => branchOf(input[branch]));
  if (taken === null || taken === undefined) return 'input.then: must be a name or an array of names';
  if (other === null || other === undefined) return 'input.else: must be a name or an array of names';
  return { when, then: taken, else: other };
}

/** Returns the nodes to disable: those of the branch not taken that the other one does not name too. */
export function notTaken({ when, then, else: otherwise }: Decision): string[] {
  const [taken, skipped] = when ? [then, otherwise] : [otherwise, then];
  return [...new Set(skipped.filter((name) => !taken.includes(name)))];
}
