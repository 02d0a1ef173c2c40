import type { JsonValue } from '@heddle/base/json';
import type { CancelAnswer } from '@heddle/executor/client/options';
import { RemoteFailure } from '@heddle/executor/protocol/codes';
import type { KindContext, KindTask } from '@heddle/kit';
import type { Executors } from './executors.ts';

type Executor = NonNullable<ReturnType<Executors['find']>>;

/** Maximum earlier attempts to query: each of them has already queried its predecessors. */
const ASKED_MAX = 5;
const WITHIN_SECS = 10;

/** Returns the idempotency key of one attempt of a task. */
export function keyOf({ id }: Pick<KindTask, 'id'>, attempt: number): string {
  return `${id}:${attempt}`;
}

/**
 * Cancels what earlier attempts left running. If one of them succeeded but its worker could not report it, returns its
 * result, since the work is done.
 */
export async function endEarlierAttempts(
  executor: Executor,
  { task, signal, log }: KindContext,
): Promise<{ result: JsonValue } | null> {
  const first = Math.max(1, task.attempt - ASKED_MAX);
  const attempts = Array.from({ length: task.attempt - first }, (_, index) => first + index);
  const answers = await Promise.all(
    attempts.map(async (attempt): Promise<CancelAnswer | null> => {
      try {
        return await executor.cancel({ idempotencyKey: keyOf(task, attempt) }, { signal, deadlineSecs: WITHIN_SECS });
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof RemoteFailure && error.code === 'NOT_FOUND') return null;
        log.warn(
          { err: error, task_id: task.id, attempt },
          'could not cancel an earlier attempt; it may still be running',
        );
        return null;
      }
    }),
  );
  const succeeded = answers.find((answer) => answer?.state === 'succeeded');
  return succeeded === undefined ? null : { result: succeeded.result };
}
