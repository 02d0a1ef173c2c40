import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { Queryable, Statement } from '../database.ts';

const SET_POLICY: Statement = {
  name: 'runners.set_policy',
  text: `select runner_set_policy($1::jsonb, $2) as replaced`,
};

const READ_POLICY: Statement = {
  name: 'runners.read_policy',
  text: `select name, cpu, memory_mib, times from runner_class order by cpu, memory_mib, name`,
};

/** Timeouts in milliseconds by name, and `max_uses`. */
export type PolicyTimes = Readonly<Record<string, number | null>>;

/** A class and its settings. */
export interface ClassPolicyRow extends ResourceClass {
  readonly times: PolicyTimes;
}

/** Stores the policy and returns whether it replaced a different one; without `replace`, an existing policy is kept. */
export async function setPolicy(
  queryable: Queryable,
  classes: readonly ClassPolicyRow[],
  replace: boolean,
): Promise<boolean> {
  const rows = classes.map(({ name, cpu, memory_mib, times }) => ({ name, cpu, memory_mib, times }));
  return (await queryable.query<{ replaced: boolean }>(SET_POLICY, [JSON.stringify(rows), replace]))[0]!.replaced;
}

/** Returns the policy; empty if no process has written one yet. */
export function readPolicyRows(queryable: Queryable): Promise<ClassPolicyRow[]> {
  return queryable.query<{ [Key in keyof ClassPolicyRow]: ClassPolicyRow[Key] }>(READ_POLICY);
}

export async function readClasses(queryable: Queryable): Promise<ResourceClass[]> {
  return (await readPolicyRows(queryable)).map(({ name, cpu, memory_mib }) => ({ name, cpu, memory_mib }));
}
