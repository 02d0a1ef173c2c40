import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';

const OPEN_BEFORE: Statement = {
  name: 'recovery.open_before',
  text: withCodes(`select count(*) as n from lease l cross join unnest(l.task_ids) u(id) join task t on t.id = u.id
    where l.claimed_at < to_timestamp($1::float8 / 1000) and t.lease_id = l.id and (t.state + 0) in (:claimed, :running, :paused)
      and not exists (select 1 from delivery d
        where d.task_id = t.id and d.attempt = t.attempt and d.trigger = 'start' and d.state = 'due')`),
};

const RECOVER: Statement = {
  name: 'recovery.recover',
  text: 'select recover_attempts(to_timestamp($1::float8 / 1000), $2) as n',
};

/** Attempts that one transaction requeues. */
const BATCH = 1_000;

/** Counts open attempts that were opened before a time (milliseconds since the epoch). */
export async function attemptsBefore(database: Queryable, beforeMs: number): Promise<number> {
  return (await database.query<{ n: number }>(OPEN_BEFORE, [beforeMs]))[0]!.n;
}

/** Requeues them, each as its task's next attempt, and returns their number; reports of the old ones are rejected. */
export async function recoverAttempts(database: Queryable, beforeMs: number): Promise<number> {
  let recovered = 0;
  for (;;) {
    const [row] = await database.query<{ n: number }>(RECOVER, [beforeMs, BATCH]);
    if (row!.n === 0) return recovered;
    recovered += row!.n;
  }
}
