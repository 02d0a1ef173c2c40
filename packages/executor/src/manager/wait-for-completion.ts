import type { ManagerContext } from './context.ts';
import type { TaskEntry } from './task-entry.ts';

export interface Waiting {
  /** Aborts when the caller stops waiting. */
  readonly signal: AbortSignal;
  /** Null to wait indefinitely. */
  readonly waitMs: number | null;
}

/** Resolves when the task has ended, the time is up, the caller has gone or the manager closes. */
export function waitForCompletion(
  { waits, closing }: ManagerContext,
  task: TaskEntry,
  waiting: Waiting,
): Promise<void> {
  const { signal, waitMs } = waiting;
  if (task.isCompleted || signal.aborted || closing.hasBegun || waitMs === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      stopTask();
      stopClosing();
      stopWait?.();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const stopTask = task.onCompleted(done);
    const stopClosing = closing.onClose(done);
    const stopWait = waitMs === null ? null : waits.after(waitMs, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
