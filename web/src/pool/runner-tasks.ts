import { pool } from '../api/pool.ts';
import { useLive } from '../data/live.ts';
import { taskLabel } from './words.ts';

interface RunnerTask {
  /** Null: a holder has the runners. */
  taskId: string | null;
  /** The name of the task, or of the holder. */
  name: string;
}

/** By request. */
export type RunnerTasks = ReadonlyMap<string, RunnerTask>;

const NONE: RunnerTasks = new Map();

/** For what the newest granted requests have their runners: read in one call for all. */
export function useRunnerTasks(): RunnerTasks {
  const { data: requests } = useLive(['pool', 'requests', 'newest'], (signal) =>
    pool.requests('granted', null, signal),
  );
  if (requests === undefined) return NONE;
  return new Map(
    requests.rows.map(({ id, source, run, task_name }) => [
      id,
      source === 'task' ? { taskId: run, name: taskLabel(run, task_name) } : { taskId: null, name: run },
    ]),
  );
}
