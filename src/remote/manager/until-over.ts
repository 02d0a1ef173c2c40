import type { ManagerContext } from './context.ts';
import type { TaskEntry } from './task-entry.ts';

export interface Waiting {
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Null for as long as it takes. */
  readonly waitMs: number | null;
}

/** Resolves when the task is over, the time is, the caller has gone or the manager closes. */
export function untilOver({ waits, closing }: ManagerContext, task: TaskEntry, waiting: Waiting): Promise<void> {
  const { signal, waitMs } = waiting;
  if (task.isOver || signal.aborted || closing.hasBegun || waitMs === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      stopTask();
      stopClosing();
      stopWait?.();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const stopTask = task.onOver(done);
    const stopClosing = closing.onClose(done);
    const stopWait = waitMs === null ? null : waits.after(waitMs, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
