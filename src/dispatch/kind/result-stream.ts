import type { TaskId } from '../../domain/ids.ts';
import type { TaskResult } from '../../domain/workflow.ts';
import type { Engine } from '../../engine/port.ts';

/** Reads what tasks that came before a task in its sequence left behind. */
export interface ResultReader {
  /** By container and position; a bounded part of them in memory at a time. Ends with an error when the signal aborts. */
  stream(task_id: TaskId, signal: AbortSignal): AsyncIterable<TaskResult>;
}

/** One page: at most `limit`, and fewer only where no more are there. */
type ReadPage = (task_id: TaskId, after: TaskId | null, limit: number) => Promise<TaskResult[]>;

const PAGE_FIRST = 200;
const PAGE_MIN = 10;
const PAGE_MAX = 1000;
/** What one page should come to, characters of JSON. */
const PAGE_CHARACTERS = 2 * 1024 * 1024;
/** Results of a page that are measured. */
const SAMPLED = 5;

/** Results straight from the engine. */
export function engineResults(engine: Pick<Engine, 'readResults'>): ResultReader {
  return pagedResults((before_task_id, after, limit) => engine.readResults({ before_task_id }, after, limit));
}

/** Results in pages that are the smaller, the larger the results are. */
export function pagedResults(read: ReadPage): ResultReader {
  return { stream: (taskId, signal) => streamPages(read, taskId, signal) };
}

/** For a worker that has neither a database nor a server to read from. */
export const NO_RESULTS: ResultReader = pagedResults(() =>
  Promise.reject(
    new Error('this worker cannot read results: it knows neither a database (DATABASE_URL) nor a server (HEDDLE_URL)'),
  ),
);

async function* streamPages(
  read: ReadPage,
  taskId: TaskId,
  signal: AbortSignal,
): AsyncGenerator<TaskResult, void, undefined> {
  let after: TaskId | null = null;
  for (let limit = PAGE_FIRST; ;) {
    signal.throwIfAborted();
    const page = await read(taskId, after, limit);
    yield* page;
    if (page.length < limit) return;
    after = page.at(-1)!.task_id;
    limit = nextLimit(page);
  }
}

function nextLimit(page: readonly TaskResult[]): number {
  const sample = page.slice(-SAMPLED);
  const characters = sample.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0) / sample.length;
  return Math.max(PAGE_MIN, Math.min(PAGE_MAX, Math.floor(PAGE_CHARACTERS / Math.max(1, characters))));
}
