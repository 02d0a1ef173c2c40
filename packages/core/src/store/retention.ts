import type { Queryable, Statement } from './database.ts';

const ARCHIVE: Statement = {
  name: 'workflows.archive',
  text: `select archive_workflows(coalesce($3::timestamptz, clock_timestamp()) - $1 * interval '1 millisecond', $2,
    $3::timestamptz) as moved`,
};

const DELETE_ARCHIVED: Statement = {
  name: 'workflows.delete_archived',
  text: `select delete_archived(coalesce($3::timestamptz, clock_timestamp()) - $1 * interval '1 millisecond', $2) as n`,
};

const DELETE_IDLE_SLOTS: Statement = {
  name: 'slots.delete_idle',
  text: `delete from slot where id in (
    select s.id from slot s where s.used = 0 and not exists (select 1 from blocked b where b.slot_id = s.id)
    order by s.id limit $1 for update skip locked)`,
};

/** Moves workflows that ended `olderThanMs` ago to the archive; returns the number of tasks. */
export async function archiveWorkflows(
  queryable: Queryable,
  olderThanMs: number,
  limit: number,
  now: string | null,
): Promise<number> {
  const [row] = await queryable.query<{ moved: { archived: number } }>(ARCHIVE, [olderThanMs, limit, now]);
  return row!.moved.archived;
}

export async function deleteArchived(
  queryable: Queryable,
  olderThanMs: number,
  limit: number,
  now: string | null,
): Promise<number> {
  const [row] = await queryable.query<{ n: number }>(DELETE_ARCHIVED, [olderThanMs, limit, now]);
  return row!.n;
}

/** Deletes unused slots; a claim creates those it needs again. */
export async function deleteIdleSlots(queryable: Queryable, limit: number): Promise<void> {
  await queryable.query(DELETE_IDLE_SLOTS, [limit]);
}
