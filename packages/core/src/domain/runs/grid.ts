import type { TaskState } from '@heddle/base/vocabulary/task-state';
import { groupState, weightOf, type StateTally } from './group-state.ts';
import { nameStem } from './node-name.ts';

export interface GridTask {
  id: string;
  local_id: string | null;
  name: string;
  kind: string;
  state: TaskState;
  started_at: number | null;
  ended_at: number | null;
}

/** Tasks that are the same in several runs. */
export interface GridRow {
  key: string;
  name: string;
  kind: string;
}

/** The tasks of one row in one run. */
export interface GridCell {
  /** The one that the state comes from. */
  task_id: string;
  state: TaskState;
  /** From the first start to the last end; null until all have ended. */
  duration_ms: number | null;
  count: number;
}

export interface Grid {
  rows: GridRow[];
  /** By row and run. */
  cells: (GridCell | null)[][];
  rows_left_out: number;
}

interface Collected extends GridCell {
  tally: StateTally;
  started_at: number | null;
  ended_at: number | null;
  open: boolean;
}

/**
 * Compares runs task by task. Tasks are the same if they have the same name within their submissions, or else the same
 * kind and name but for its numbers, so that what a generator adds to each run is one row.
 *
 * @param runs tasks of each run, in their order
 * @param rowsMax rows in the order in which the runs have them, those of the first run first
 */
export function gridOf(runs: readonly (readonly GridTask[])[], rowsMax: number): Grid {
  const rows = new Map<string, { row: GridRow; cells: Map<number, Collected> }>();
  for (const [column, tasks] of runs.entries()) {
    for (const task of tasks) {
      const key = keyOf(task);
      let found = rows.get(key);
      if (found === undefined) {
        found = { row: { key, name: task.local_id ?? nameStem(task.name), kind: task.kind }, cells: new Map() };
        rows.set(key, found);
      }
      collect(found.cells, column, task);
    }
  }
  const shown = [...rows.values()].slice(0, rowsMax);
  for (const { row, cells } of shown) {
    // A row of single tasks is called like them.
    if ([...cells.values()].every(({ count }) => count === 1)) row.name = nameOf(runs, cells, row);
  }
  return {
    rows: shown.map(({ row }) => row),
    cells: shown.map(({ cells }) => runs.map((_, column) => cellOf(cells.get(column)))),
    rows_left_out: rows.size - shown.length,
  };
}

function keyOf({ local_id, name, kind }: GridTask): string {
  return local_id === null ? `name:${kind}:${nameStem(name)}` : `id:${local_id}`;
}

function nameOf(runs: readonly (readonly GridTask[])[], cells: ReadonlyMap<number, Collected>, row: GridRow): string {
  const [[column, cell]] = [...cells] as [[number, Collected]];
  return runs[column]!.find(({ id }) => id === cell.task_id)?.name ?? row.name;
}

function collect(cells: Map<number, Collected>, column: number, task: GridTask): void {
  const cell = cells.get(column);
  const open = task.ended_at === null;
  if (cell === undefined) {
    const { id: task_id, state, started_at, ended_at } = task;
    cells.set(column, {
      task_id,
      state,
      duration_ms: null,
      count: 1,
      tally: { [state]: 1 },
      started_at,
      ended_at,
      open,
    });
    return;
  }
  if (weightOf(task.state) < weightOf(cell.state)) cell.task_id = task.id;
  cell.tally[task.state] = (cell.tally[task.state] ?? 0) + 1;
  cell.state = groupState(cell.tally);
  cell.count += 1;
  cell.open ||= open;
  if (task.started_at !== null) cell.started_at = Math.min(cell.started_at ?? Infinity, task.started_at);
  if (task.ended_at !== null) cell.ended_at = Math.max(cell.ended_at ?? -Infinity, task.ended_at);
}

function cellOf(cell: Collected | undefined): GridCell | null {
  if (cell === undefined) return null;
  const { task_id, state, count, started_at, ended_at, open } = cell;
  const isDone = !open && started_at !== null && ended_at !== null;
  return { task_id, state, duration_ms: isDone ? Math.max(ended_at - started_at, 0) : null, count };
}
