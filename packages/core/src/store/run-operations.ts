import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';
import { uuidArray, type Moved } from './transitions.ts';

/** What decides whether an operation changes a run, and how much of it. */
export interface OperatedRun {
  id: string;
  is_tree: boolean;
  task_count: number;
  remaining: number;
}

const FIND_RUNS: Statement = {
  name: 'runs.find_operated',
  text: `select w.id, w.is_tree, w.task_count, w.remaining
    from workflow_all w where w.id = any($1::uuid[])`,
};

const PAUSE: Statement = { name: 'runs.pause', text: 'select pause_workflows($1::uuid[], $2, $3) as moved' };

export type TaskChoice = 'open' | 'unsuccessful';

const chosen = (name: string, table: 'task' | 'task_all', condition: string): Statement => ({
  name,
  text: withCodes(`select t.id, t.workflow_id from ${table} t
    where t.workflow_id = any($1::uuid[]) and ${condition} order by t.id`),
});

const FIND_TASKS: Readonly<Record<TaskChoice, Statement>> = {
  open: chosen('runs.find_open_tasks', 'task', '(t.state + 0) < :terminal'),
  unsuccessful: chosen('runs.find_unsuccessful_tasks', 'task_all', '(t.state + 0) between :failed and :canceled'),
};

export function findOperatedRuns(queryable: Queryable, ids: readonly string[]): Promise<OperatedRun[]> {
  return queryable.query(FIND_RUNS, [uuidArray(ids)]);
}

/** `runs`: how many tasks changed, of the runs of which any did. Null if there are no such runs, archived ones aside. */
export async function pauseRuns(
  queryable: Queryable,
  ids: readonly string[],
  pause: boolean,
  now: string | null,
): Promise<(Moved & { runs?: { id: string; tasks: number }[] | null }) | null> {
  type Row = { moved: Awaited<ReturnType<typeof pauseRuns>> };
  const [row] = await queryable.query<Row>(PAUSE, [uuidArray(ids), pause, now]);
  return row!.moved;
}

/** Returns those tasks of some runs that an operation is about. */
export function findTasksOfRuns(
  queryable: Queryable,
  ids: readonly string[],
  choice: TaskChoice,
): Promise<{ id: string; workflow_id: string }[]> {
  return queryable.query(FIND_TASKS[choice], [uuidArray(ids)]);
}
