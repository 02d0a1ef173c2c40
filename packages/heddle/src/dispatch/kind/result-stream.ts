import type { TaskId } from '@heddle/base/ids';
import type { TaskResult } from '@heddle/base/vocabulary/workflow';
import type { Engine } from '@heddle/core/engine/port';

/** Reads the results of tasks that precede a task in its sequence. */
export interface ResultReader {
  /** By container and position, with a bounded part in memory at a time. Throws when the signal aborts. */
  stream(task_id: TaskId, signal: AbortSignal): AsyncIterable<TaskResult>;
}

/** Returns one page: at most `limit`, and fewer only at the end. */
type ReadPage = (task_id: TaskId, after: TaskId | null, limit: number) => Promise<TaskResult[]>;

const PAGE_FIRST = 200;
const PAGE_MIN = 10;
const PAGE_MAX = 1000;
/** Target size of one page, characters of JSON. */
const PAGE_CHARACTERS = 2 * 1024 * 1024;
/** Results of a page that are measured. */
const SAMPLED = 5;

/** Reads results directly from the engine. */
export function engineResults(engine: Pick<Engine, 'readResults'>): ResultReader {
  return pagedResults((before_task_id, after, limit) => engine.readResults({ before_task_id }, after, limit));
}

/** Reads results in pages whose size shrinks as the results grow. */
export function pagedResults(read: ReadPage): ResultReader {
  return { stream: (taskId, signal) => streamPages(read, taskId, signal) };
}

/** For a worker that has neither a database nor a server to read from. */
export const NO_RESULTS: ResultReader = pagedResults(() =>
  Promise.reject(new Error('this worker cannot read results: set DATABASE_URL or HEDDLE_URL')),
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
