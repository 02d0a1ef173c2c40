import { taskStateOf, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';

const COUNT: Statement = {
  name: 'tasks.count_before',
  text: `select state, n from count_tasks_before($1, $2::text[])`,
};

export type CountsByState = Partial<Record<TaskState, number>>;

/**
 * Counts the tasks that precede a task in its container, at any depth, by state.
 *
 * @param kinds only tasks of these kinds; null: all
 */
export async function countTasksBefore(
  queryable: Queryable,
  taskId: string,
  kinds: readonly string[] | null,
): Promise<CountsByState> {
  return countsByState(await queryable.query(COUNT, [taskId, kinds === null ? null : [...kinds]]));
}

/** Converts counts by state code to counts by state name, in order. */
export function countsByState(rows: readonly { state: number; n: number }[]): CountsByState {
  const sorted = [...rows].sort((a, b) => a.state - b.state);
  return Object.fromEntries(sorted.map(({ state, n }) => [taskStateOf(state), n]));
}
