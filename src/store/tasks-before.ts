import { taskStateOf, type TaskState } from '../domain/task-state.ts';
import type { Queryable, Statement } from './database.ts';

const COUNT: Statement = {
  name: 'tasks.count_before',
  text: `select state, n from count_tasks_before($1, $2::text[])`,
};

export type CountsByState = Partial<Record<TaskState, number>>;

/**
 * What stands before a task in its container, and below that, by state.
 *
 * @param kinds only tasks of these; null: of all
 */
export async function countTasksBefore(
  queryable: Queryable,
  taskId: string,
  kinds: readonly string[] | null,
): Promise<CountsByState> {
  return countsByState(await queryable.query(COUNT, [taskId, kinds === null ? null : [...kinds]]));
}

/** By the names of states, in their order, of counts by their codes. */
export function countsByState(rows: readonly { state: number; n: number }[]): CountsByState {
  const sorted = [...rows].sort((a, b) => a.state - b.state);
  return Object.fromEntries(sorted.map(({ state, n }) => [taskStateOf(state), n]));
}
