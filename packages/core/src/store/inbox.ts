import type { Queryable, Statement } from './database.ts';
import { uuidArray } from './transitions.ts';

const REMEMBER: Statement = {
  name: 'inbox.remember',
  text: `insert into inbox (message_id, received_at)
    select id, to_timestamp($2::double precision / 1000) from unnest($1::uuid[]) as id order by id
    on conflict do nothing returning message_id`,
};

const FORGET: Statement = {
  name: 'inbox.forget_dead_lettered',
  text: `delete from inbox where message_id = any($1::uuid[])`,
};

const FORGET_OLD: Statement = {
  name: 'inbox.forget',
  text: `with gone as (delete from inbox where message_id = any(array(
      select message_id from inbox where received_at < to_timestamp($1::double precision / 1000)
      order by received_at limit $2 for update skip locked)) returning 1)
    select count(*) as n from gone`,
};

/**
 * Records message ids, sorted so that two transactions cannot deadlock, and returns the new ones. Waits for
 * transactions that are recording the same ids.
 */
export async function rememberMessages(tx: Queryable, ids: readonly string[], now: number): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await tx.query<{ message_id: string }>(REMEMBER, [uuidArray(ids), now]);
  return new Set(rows.map((row) => row.message_id));
}

/** Removes messages that the same transaction decided not to apply. */
export async function forgetMessages(tx: Queryable, ids: readonly string[]): Promise<void> {
  await tx.query(FORGET, [uuidArray(ids)]);
}

/** Deletes messages older than the given time, oldest first, at most `limit`; returns their number. */
export async function forgetOldMessages(queryable: Queryable, before: number, limit: number): Promise<number> {
  const [row] = await queryable.query<{ n: number }>(FORGET_OLD, [before, limit]);
  return row!.n;
}
