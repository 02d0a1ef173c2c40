import type { LocalWorkerOptions } from '../../dispatch/local-worker.ts';

export type WorkerEngine = LocalWorkerOptions['engine'];

export interface Attempt {
  readonly task_id: string;
  readonly attempt: number | null;
}

/**
 * Wraps the engine of a worker to report attempts that are settled, by a stored result or by handing them back.
 *
 * @param onSettled called after the engine accepted them
 */
export function watchedEngine(engine: WorkerEngine, onSettled: (attempts: readonly Attempt[]) => void): WorkerEngine {
  return {
    progress: (reports) => engine.progress(reports),
    heartbeat: (beats) => engine.heartbeat(beats),
    getTask: (id) => engine.getTask(id),
    onReady: (lanes, wake) => engine.onReady(lanes, wake),
    // Tasks submitted by this process never use the lane of its runner.
    offerToClaim: () => () => undefined,
    claim: (request) => engine.claim(request),
    report: async (reports) => {
      const outcomes = await engine.report(reports);
      onSettled(reports);
      return outcomes;
    },
    reportAndClaim: async (reports, request) => {
      const answer = await engine.reportAndClaim(reports, request);
      onSettled(reports);
      return answer;
    },
    appendLogs: (chunks) => engine.appendLogs(chunks),
    release: async (attempts) => {
      const outcomes = await engine.release(attempts);
      onSettled(attempts);
      return outcomes;
    },
  };
}
