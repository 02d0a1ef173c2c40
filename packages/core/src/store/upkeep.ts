import type { Database, Queryable, Statement } from './database.ts';

const OLDEST_SNAPSHOT: Statement = {
  name: 'upkeep.oldest_snapshot',
  text: `select o.holder, extract(epoch from clock_timestamp() - o.since)::float8 as seconds from (
    select 'session ' || a.pid || coalesce(' (' || nullif(concat_ws(', ', nullif(a.usename, ''),
        nullif(a.application_name, ''), a.state), '') || ')', '') as holder,
      coalesce(a.xact_start, a.backend_start) as since
    from pg_stat_activity a
    where (a.backend_xmin is not null or a.backend_xid is not null) and a.pid <> pg_backend_pid()
      and (a.datname = current_database() or a.datname is null) and a.backend_type <> 'autovacuum worker'
    union all
    select 'prepared transaction ' || p.gid, p.prepared from pg_prepared_xacts p where p.database = current_database()) o
    order by o.since limit 1`,
};

/** Estimates suffice to find an index many times larger than its content. */
const HAS_SPARE_SPACE: Statement = {
  name: 'upkeep.has_spare_space',
  text: `select pg_indexes_size(c.oid) > $1 + 400 * greatest(c.reltuples, coalesce(s.n_live_tup, 0), 0)
      and coalesce(s.n_dead_tup, 0) < 10000 as has_spare_space
    from pg_class c left join pg_stat_user_tables s on s.relid = c.oid
    where c.oid = 'ready'::regclass`,
};

const LIMIT_WAIT: Statement = { name: 'upkeep.limit_wait', text: `set local lock_timeout = '100ms'` };
const REINDEX: Statement = { name: 'upkeep.reindex', text: 'reindex table ready' };

/** Size of the index of `ready` below which the lock is not worthwhile. */
const SPARE_BYTES_MIN = 4 * 1024 * 1024;

/** What has prevented the removal of dead rows for the longest time. */
export interface OldestSnapshot {
  /** Readable description of its owner. */
  holder: string;
  seconds: number;
}

/** Returns the oldest open transaction visible to this role; sessions of other roles only with permission. */
export async function oldestSnapshot(database: Queryable): Promise<OldestSnapshot | null> {
  return (await database.query<OldestSnapshot>(OLDEST_SNAPSHOT))[0] ?? null;
}

/**
 * Rebuilds the index of `ready` after a long transaction has bloated it: vacuum frees its pages for later rows, but
 * claims still read through them. The table is small then, so the lock is held for milliseconds.
 */
export async function giveBackIndexSpace(database: Database): Promise<boolean> {
  const [row] = await database.query<{ has_spare_space: boolean }>(HAS_SPARE_SPACE, [SPARE_BYTES_MIN]);
  if (row?.has_spare_space !== true) return false;
  await database.transaction(async (tx) => {
    await tx.query(LIMIT_WAIT);
    await tx.query(REINDEX);
  });
  return true;
}
