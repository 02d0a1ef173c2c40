import { attemptOutcomeOf, type TaskAttempt } from '@heddle/base/vocabulary/attempt';
import type { Queryable, Statement } from './database.ts';

const FIND: Statement = { name: 'attempts.of_task', text: `select * from attempts_of($1, $2, $3)` };

interface AttemptRow extends Omit<TaskAttempt, 'outcome'> {
  outcome: number | null;
}

/**
 * Returns attempts of a task, newest first, archived ones too.
 *
 * @param before only attempts below this number; null: from the last one
 */
export async function findAttempts(
  queryable: Queryable,
  taskId: string,
  before: number | null,
  limit: number,
): Promise<TaskAttempt[]> {
  const rows = await queryable.query<AttemptRow>(FIND, [taskId, before, limit]);
  return rows.map(({ outcome, ...row }) => ({ ...row, outcome: outcome === null ? null : attemptOutcomeOf(outcome) }));
}
