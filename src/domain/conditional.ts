import type { JsonObject, JsonValue } from './json.ts';

/** The kind that decides which of the nodes after it run. */
export const CONDITIONAL_KIND = 'Conditional';

/** Nodes that one branch may name. */
export const BRANCH_NODES_MAX = 1000;

export const BRANCHES = ['then', 'else'] as const;
export type Branch = (typeof BRANCHES)[number];

/** What a conditional decides by, once its expression has its value. */
export interface Decision {
  when: boolean;
  then: readonly string[];
  else: readonly string[];
}

/** The names of a branch: one, several, or none. Null where it is anything else. */
export function branchOf(value: JsonValue | undefined): string[] | null {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value) || value.length > BRANCH_NODES_MAX) return null;
  return value.every((name) => typeof name === 'string') ? value : null;
}

/** The input of a conditional that is to run; a text says what is wrong with it. */
export function decisionOf(input: JsonObject): Decision | string {
  const { when } = input;
  if (typeof when !== 'boolean')
    return `input.when: must come to true or false, not ${JSON.stringify(when ?? null).slice(0, 100)}`;
  const [taken, other] = BRANCHES.map((branch) => branchOf(input[branch]));
  if (taken === null || taken === undefined) return 'input.then: must be a name or an array of names';
  if (other === null || other === undefined) return 'input.else: must be a name or an array of names';
  return { when, then: taken, else: other };
}

/** The nodes that do not run: those of the branch not taken that the other one does not name, too. */
export function notTaken({ when, then, else: otherwise }: Decision): string[] {
  const [taken, skipped] = when ? [then, otherwise] : [otherwise, then];
  return [...new Set(skipped.filter((name) => !taken.includes(name)))];
}
