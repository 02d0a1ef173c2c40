import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';
import { uuidArray } from './transitions.ts';

/** What decides whether an operation changes a run, and how much of it. */
export interface OperatedRun {
  id: string;
  is_tree: boolean;
  archived: boolean;
  paused: boolean;
  task_count: number;
  remaining: number;
}

const FIND_RUNS: Statement = {
  name: 'runs.find_operated',
  text: `select w.id, w.is_tree, w.archived, w.paused, w.task_count, w.remaining
    from workflow_all w where w.id = any($1::uuid[])`,
};

/** Nodes that are added while a workflow is paused are paused, too. */
const SET_PAUSED: Statement = {
  name: 'runs.set_paused',
  text: `with locked as (
      select w.id from workflow w where w.id = any($1::uuid[]) order by w.id for no key update)
    update workflow w set paused = $2 and w.remaining > 0 from locked l where w.id = l.id`,
};

export type TaskChoice = 'open' | 'unpaused' | 'paused' | 'unsuccessful';

const CONDITION: Readonly<Record<TaskChoice, string>> = {
  open: '(t.state + 0) < :terminal',
  unpaused: '(t.state + 0) < :paused',
  paused: '(t.state + 0) = :paused',
  unsuccessful: '(t.state + 0) between :failed and :canceled',
};

const FIND_TASKS = Object.fromEntries(
  Object.entries(CONDITION).map(([choice, condition]) => [
    choice,
    {
      name: `runs.find_${choice}_tasks`,
      text: withCodes(`select t.id, t.workflow_id from ${choice === 'unsuccessful' ? 'task_all' : 'task'} t
        where t.workflow_id = any($1::uuid[]) and ${condition} order by t.id`),
    },
  ]),
) as Readonly<Record<TaskChoice, Statement>>;

export function findOperatedRuns(queryable: Queryable, ids: readonly string[]): Promise<OperatedRun[]> {
  return queryable.query(FIND_RUNS, [uuidArray(ids)]);
}

export async function setRunsPaused(queryable: Queryable, ids: readonly string[], paused: boolean): Promise<void> {
  await queryable.query(SET_PAUSED, [uuidArray(ids), paused]);
}

/** Returns those tasks of some runs that an operation is about. */
export function findTasksOfRuns(
  queryable: Queryable,
  ids: readonly string[],
  choice: TaskChoice,
): Promise<{ id: string; workflow_id: string }[]> {
  return queryable.query(FIND_TASKS[choice], [uuidArray(ids)]);
}
