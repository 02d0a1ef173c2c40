import type { ResourceClass } from '../../domain/runner/resource-class.ts';
import type { Queryable, Statement } from '../database.ts';

const SET_POLICY: Statement = {
  name: 'runners.set_policy',
  text: `select runner_set_policy($1::jsonb, $2::jsonb, $3) as replaced`,
};

const READ_POLICY: Statement = {
  name: 'runners.read_policy',
  text: `select p.times from runner_policy p`,
};

const READ_CLASSES: Statement = {
  name: 'runners.read_classes',
  text: `select name, cpu, memory_mib from runner_class order by cpu, memory_mib, name`,
};

/** Milliseconds by name, and `max_uses`. */
export type PolicyTimes = Readonly<Record<string, number | null>>;

/** Returns whether another policy was replaced; without `replace` one that is there stays. */
export async function setPolicy(
  queryable: Queryable,
  classes: readonly ResourceClass[],
  times: PolicyTimes,
  replace: boolean,
): Promise<boolean> {
  const rows = classes.map(({ name, cpu, memory_mib }) => ({ name, cpu, memory_mib }));
  const values = [JSON.stringify(rows), JSON.stringify(times), replace];
  return (await queryable.query<{ replaced: boolean }>(SET_POLICY, values))[0]!.replaced;
}

/** Null where no process has written a policy yet. */
export async function readPolicyTimes(queryable: Queryable): Promise<PolicyTimes | null> {
  return (await queryable.query<{ times: PolicyTimes }>(READ_POLICY))[0]?.times ?? null;
}

export function readClasses(queryable: Queryable): Promise<ResourceClass[]> {
  return queryable.query<{ [Key in keyof ResourceClass]: ResourceClass[Key] }>(READ_CLASSES);
}
