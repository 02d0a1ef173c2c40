import type { Queryable, Statement } from './database.ts';
import { numberArray, uuidArray } from './transitions.ts';

const RUNNERS_OF_TASKS: Statement = {
  name: 'runner_tasks.runners',
  text: `select q.task_id, r.id, r.number, y.instance_type, r.address
    from unnest($1::uuid[], $2::integer[]) u(id, attempt)
    join runner_request q on q.task_id = u.id and q.attempt = u.attempt and q.state = 1
    join runner r on r.request_id = q.id and r.state in (2, 3) join runner_type y on y.id = r.type_id
    order by r.number`,
};

export interface TaskRunnerRow {
  task_id: string;
  id: string;
  number: number;
  instance_type: string;
  address: string | null;
}

/** The runners that open attempts have, in the order of their numbers. */
export function findRunnersOfTasks(
  queryable: Queryable,
  tasks: readonly { id: string; attempt: number }[],
): Promise<TaskRunnerRow[]> {
  return queryable.query(RUNNERS_OF_TASKS, [
    uuidArray(tasks.map(({ id }) => id)),
    numberArray(tasks.map(({ attempt }) => attempt)),
  ]);
}
