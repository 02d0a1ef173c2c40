import type { Database } from '@heddle/core/store/database';

export interface ManyRuns {
  runs: number;
  tasks_per_run: number;
}

const RUNS_PER_STATEMENT = 1000;
const KINDS = ['fetch', 'parse', 'index', 'invoice', 'clean'];

/** Ids that grow with time. */
const RUN_IDS = [
  `create or replace function run_id(n integer, at timestamptz) returns uuid language sql immutable as $$
     select (left(t, 8) || '-' || right(t, 4) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid
     from (select lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') as t) x $$`,
  `create or replace function task_id(n integer, i integer) returns uuid language sql immutable as $$
     select ('01900000-0001-7000-' || lpad(to_hex(32768 + i % 16384), 4, '0') || '-' || lpad(to_hex(n), 12, '0'))::uuid $$`,
];

/**
 * Stores runs in SQL, for lists at sizes that no test could submit: the older half in the archive, every second one with
 * one of 100 names, every 50th failed, every 100th canceled, and the latest 1 % open. They were created a minute apart.
 */
export async function storeManyRuns(database: Database, { runs, tasks_per_run }: ManyRuns): Promise<void> {
  const run = async (name: string, text: string, values: unknown[] = []): Promise<void> => {
    await database.query({ name: `many_runs.${name}`, text }, values);
  };
  for (const [index, text] of RUN_IDS.entries()) await run(`ids.${index}`, text);
  await run('kinds', `insert into kind (name) select unnest($1::text[]) on conflict do nothing`, [KINDS]);
  // One time for all statements, since ids are made of it.
  const [{ now } = { now: '' }] = await database.query<{ now: string }>({
    name: 'many_runs.now',
    text: 'select now()::text as now',
  });
  for (const archived of [true, false]) {
    const prefix = archived ? 'archive_' : '';
    await run(
      `${prefix}workflows`,
      `insert into ${prefix}workflow (id, name, linked, task_count, remaining, succeeded, failed, canceled, skipped,
          failing, failed_task, outcome, kinds, created_at, ended_at ${archived ? ', archived_at' : ''})
        select run_id(n, at), case when n % 2 = 0 then 'nightly ' || n % 100 end, false, $2, open,
          $2 - open - failed - canceled, failed, canceled, 0, failed > 0, case when failed > 0 then task_id(n, 1) end,
          case when open = 0 then case when failed > 0 then 13 when canceled > 0 then 14 else 10 end end,
          array(select id from kind order by id limit 1 + n % 3), at, case when open = 0 then at + interval '1 minute' end
          ${archived ? ', now()' : ''}
        from generate_series(1, $1::integer) n cross join lateral (
          select case when n > $1 * 0.99 then 1 else 0 end as open, case when n % 50 = 0 then 1 else 0 end as failed,
            case when n % 100 = 1 then 1 else 0 end as canceled, $3::timestamptz - ($1 - n) * interval '1 minute' as at) x
        where (n <= $1 / 2) = ${archived}`,
      [runs, tasks_per_run, now],
    );
    for (let from = 1; from <= runs; from += RUNS_PER_STATEMENT)
      await run(
        `${prefix}tasks`,
        `insert into ${prefix}task (id, workflow_id, kind_id, state, attempt, timeout_secs, created_at, updated_at, started_at,
          ended_at, name, metadata, reason)
        select task_id(n, i), run_id(n, at), (array(select id from kind order by id))[1 + n % 3],
          case when i = 1 and n % 50 = 0 then 11 when i = 1 and n % 100 = 1 then 14
            when i = 2 and n > $1 * 0.99 then 1 else 10 end, 1, 3600, at, at, at + interval '1 second',
          case when i = 2 and n > $1 * 0.99 then null else at + i * interval '500 ms' end,
          'step ' || i, jsonb_build_object('shop', n % 1000), case when i = 1 and n % 50 = 0 then 'no paper' end
        from generate_series($3::integer, least($3 + ${RUNS_PER_STATEMENT - 1}, $1::integer)) n cross join generate_series(1, $2::integer) i
        cross join lateral (select $4::timestamptz - ($1 - n) * interval '1 minute' as at) x
        where (n <= $1 / 2) = ${archived}`,
        [runs, tasks_per_run, from, now],
      );
  }
  await run('analyze', `analyze workflow, archive_workflow, task, archive_task`);
}
