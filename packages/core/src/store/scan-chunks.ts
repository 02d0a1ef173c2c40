import type { Queryable, Statement } from './database.ts';

const PUT: Statement = {
  name: 'scan_chunks.put',
  text: `insert into recon.scan_chunk (task_id, attempt, ordinal, findings, created_at)
    values ($1, $2, $3, $4::jsonb, coalesce($5::timestamptz, clock_timestamp()))
    on conflict (task_id, attempt, ordinal) do update
      set findings = excluded.findings, created_at = excluded.created_at`,
};

const GET: Statement = {
  name: 'scan_chunks.get',
  text: `select findings as elements from recon.scan_chunk where task_id = $1 and attempt = $2 and ordinal = $3`,
};

const DELETE_OLD: Statement = {
  name: 'scan_chunks.delete_old',
  text: `delete from recon.scan_chunk where (task_id, attempt, ordinal) in (
    select task_id, attempt, ordinal from recon.scan_chunk
    where created_at < coalesce($3::timestamptz, clock_timestamp()) - $1 * interval '1 millisecond'
    order by created_at limit $2)`,
};

/** Part of the output of one scan attempt, to be merged: findings or recon records. */
export interface ChunkKey {
  task_id: string;
  attempt: number;
  /** Counts from 0. */
  ordinal: number;
}

/** Stores a chunk; a repeat replaces it. */
export async function putChunk(
  queryable: Queryable,
  { task_id, attempt, ordinal }: ChunkKey,
  elements: readonly unknown[],
  now: string | null,
): Promise<void> {
  await queryable.query(PUT, [task_id, attempt, ordinal, JSON.stringify(elements), now]);
}

/** Returns a chunk as stored; null if there is none, or no longer. */
export async function findChunk<Element>(
  queryable: Queryable,
  { task_id, attempt, ordinal }: ChunkKey,
): Promise<readonly Element[] | null> {
  const [row] = await queryable.query<{ elements: Element[] }>(GET, [task_id, attempt, ordinal]);
  return row?.elements ?? null;
}

/** Deletes at most `limit` chunks that were stored `keepMs` ago. */
export async function deleteOldChunks(
  queryable: Queryable,
  keepMs: number,
  limit: number,
  now: string | null,
): Promise<void> {
  await queryable.query(DELETE_OLD, [keepMs, limit, now]);
}
