import { gridOf } from '../../domain/runs/grid.ts';
import type { Queryable } from '../../store/database.ts';
import { runOf } from '../../store/run-columns.ts';
import { findRuns } from '../../store/run-lists.ts';
import { findTasksOfRuns } from '../../store/run-tasks.ts';
import type { RunGrid } from './port.ts';

const GRID_ROWS_MAX = 200;
/** Tasks that a grid reads of all its runs. */
const GRID_TASKS_MAX = 20_000;

/** Compares the newest runs with a name, task by task. */
export async function gridOfRuns(database: Queryable, name: string, limit: number): Promise<RunGrid> {
  const { rows } = await findRuns(database, { name }, null, limit);
  const runs = rows.map(runOf);
  const perRun = Math.floor(GRID_TASKS_MAX / Math.max(runs.length, 1));
  const tasks = await findTasksOfRuns(
    database,
    runs.map(({ id }) => id),
    perRun,
  );
  const grid = gridOf(tasks, GRID_ROWS_MAX);
  return {
    runs,
    tasks: grid.rows,
    cells: grid.cells,
    tasks_left_out: grid.rows_left_out,
    partial: runs.some(({ counts }) => counts.total > perRun),
  };
}
