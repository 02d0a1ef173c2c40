import type { LocalWorkerOptions } from '../../dispatch/local-worker.ts';

type WorkerEngine = LocalWorkerOptions['engine'];

export interface Attempt {
  readonly task_id: string;
  readonly attempt: number | null;
}

/** Hears what a worker claims, and what of it is settled for good: reported and stored, or handed back. */
export interface TaskWatch {
  taken(attempts: readonly Attempt[]): void;
  settled(attempts: readonly Attempt[]): void;
}

/** The engine of a worker, watched. */
export function watchedEngine(engine: WorkerEngine, watch: TaskWatch): WorkerEngine {
  const attemptsOf = (tasks: readonly { id: string; attempt: number }[]): Attempt[] =>
    tasks.map(({ id, attempt }) => ({ task_id: id, attempt }));
  return {
    progress: (reports) => engine.progress(reports),
    heartbeat: (beats) => engine.heartbeat(beats),
    getTask: (id) => engine.getTask(id),
    onReady: (lanes, onReady) => engine.onReady(lanes, onReady),
    // What others bring along is not watched; the runner's own claims find the same tasks.
    offerToClaim: () => () => undefined,
    claim: async (request) => {
      const tasks = await engine.claim(request);
      watch.taken(attemptsOf(tasks));
      return tasks;
    },
    report: async (reports) => {
      const outcomes = await engine.report(reports);
      watch.settled(reports.map(({ task_id, attempt }) => ({ task_id, attempt })));
      return outcomes;
    },
    reportAndClaim: async (reports, request) => {
      const answer = await engine.reportAndClaim(reports, request);
      watch.settled(reports.map(({ task_id, attempt }) => ({ task_id, attempt })));
      watch.taken(attemptsOf(answer.claimed));
      return answer;
    },
    release: async (attempts) => {
      const results = await engine.release(attempts);
      watch.settled(attempts);
      return results;
    },
  };
}
