import type { Queryable, Statement } from './database.ts';
import { uuidArray } from './transitions.ts';

const FIND_ROOTS: Statement = {
  name: 'tasks.find_roots',
  text: `select distinct workflow_id from task where id = any($1::uuid[])`,
};

const DISPATCHED_KINDS: Statement = {
  name: 'kinds.dispatched',
  text: `select name from kind where dispatched order by id`,
};

/** Returns the workflows, and thereby the root containers, of tasks that have not been archived. */
export async function findRoots(queryable: Queryable, taskIds: readonly string[]): Promise<string[]> {
  const rows = await queryable.query<{ workflow_id: string }>(FIND_ROOTS, [uuidArray(taskIds)]);
  return rows.map((row) => row.workflow_id);
}

/** Returns kinds whose tasks go through the queues of their workers. */
export async function dispatchedKinds(queryable: Queryable): Promise<string[]> {
  return (await queryable.query<{ name: string }>(DISPATCHED_KINDS)).map((row) => row.name);
}
