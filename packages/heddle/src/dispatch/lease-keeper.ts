import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { ClaimedTask, Engine } from '@heddle/core/engine/port';
import { unwantedReason } from './task-control.ts';
import type { TaskRun } from './task-run.ts';

/** Tasks of one heartbeat. */
const BEATS_MAX = 1_000;

/**
 * Renews the leases of a worker: a heartbeat for everything that it holds, three times per lease. The response aborts
 * runs whose task ended or went to a later attempt.
 */
export function leaseKeeper(options: {
  engine: Pick<Engine, 'heartbeat'>;
  runs: ReadonlySet<TaskRun>;
  /** Claimed but not started. */
  waiting: Iterable<ClaimedTask>;
  /** Called with waiting tasks that have ended or went to another worker. */
  onLost(task: ClaimedTask): void;
  leaseMs: number;
  clock: Clock;
  log: Logger;
}): Loop {
  const { engine, runs, waiting, leaseMs, clock, log } = options;
  const runOnce = async (signal: AbortSignal): Promise<'idle'> => {
    const held: { task: ClaimedTask; run: TaskRun | null }[] = [];
    for (const run of runs) held.push({ task: run.task, run });
    for (const task of waiting) held.push({ task, run: null });
    for (let at = 0; at < held.length && !signal.aborted; at += BEATS_MAX) {
      const set = held.slice(at, at + BEATS_MAX);
      const beats = set.map(({ task }) => ({
        task_id: task.id,
        attempt: task.attempt,
        new_success: 0,
        new_failures: 0,
      }));
      const results = await engine.heartbeat(beats);
      for (const [index, result] of results.entries()) {
        const reason = unwantedReason(result);
        if (reason === null) continue;
        const { task, run } = set[index]!;
        if (run === null) options.onLost(task);
        else run.abort(reason);
      }
    }
    return 'idle';
  };
  return new Loop({ name: 'lease keeper', intervalMs: leaseMs / 3, clock, log, runOnce });
}
