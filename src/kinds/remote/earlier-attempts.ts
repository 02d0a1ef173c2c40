import type { JsonValue } from '../../domain/json.ts';
import type { CancelAnswer } from '../../remote/client/options.ts';
import { RemoteFailure } from '../../remote/protocol/codes.ts';
import type { KindContext, KindTask } from '../definition/context.ts';
import type { Executors } from './executors.ts';

type Executor = NonNullable<ReturnType<Executors['find']>>;

/** Attempts that are asked after: of those before, each has asked after the ones before it. */
const ASKED_MAX = 5;
const WITHIN_SECS = 10;

/** The idempotency key of one attempt of a task. */
export function keyOf({ id }: Pick<KindTask, 'id'>, attempt: number): string {
  return `${id}:${attempt}`;
}

/**
 * Ends what earlier attempts left running. One of them that has succeeded, and whose worker could not say so, has done
 * the work of the task: its result is returned.
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
        log.warn({ err: error, task_id: task.id, attempt }, 'An earlier attempt could not be ended, and may still run');
        return null;
      }
    }),
  );
  const succeeded = answers.find((answer) => answer?.state === 'succeeded');
  return succeeded === undefined ? null : { result: succeeded.result };
}
