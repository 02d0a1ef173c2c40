import { places } from '../api/places.ts';
import { pool } from '../api/pool.ts';
import { useLive } from '../data/live.ts';

/** Names change rarely. */
const NAMES_REFRESH_MS = 5000;

interface RunnerTask {
  /** Null: a holder has the runners. */
  taskId: string | null;
  /** The name of the task, or the beginning of its id until a worker reports it; or the holder. */
  name: string;
}

/** By request. */
export type RunnerTasks = ReadonlyMap<string, RunnerTask>;

const NONE: RunnerTasks = new Map();

/** For what the newest granted requests have their runners: read in two calls for all. */
export function useRunnerTasks(): RunnerTasks {
  const { data: requests } = useLive(['pool', 'requests', 'newest'], (signal) =>
    pool.requests('granted', null, signal),
  );
  const { data: workers } = useLive(['workers'], places.workers, { every: NAMES_REFRESH_MS });
  if (requests === undefined) return NONE;
  const names = new Map((workers ?? []).flatMap(({ tasks }) => tasks.map(({ id, name }) => [id, name] as const)));
  return new Map(
    requests.rows.map(({ id, source, run }) => [
      id,
      source === 'task'
        ? { taskId: run, name: names.get(run) ?? `task ${run.slice(0, 13)}` }
        : { taskId: null, name: run },
    ]),
  );
}
