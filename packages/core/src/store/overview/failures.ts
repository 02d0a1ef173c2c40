import type { Queryable, Statement } from '../database.ts';
import { COUNT_CAP } from './counts.ts';

const GROUPS_MAX = 20;

/** Groups the newest failures of a day; names are looked up for the groups only. */
const FAILING: Statement = {
  name: 'home.failing',
  text: `with latest as materialized (
      select task_id, workflow_id, kind_id, fingerprint, ended_at from failure
      where ended_at > $1::timestamptz - interval '1 day' order by ended_at desc, task_id desc limit $2 + 1
    ), by_run as (
      select fingerprint, kind_id, workflow_id, count(*) as tasks, max(ended_at) as last_at
      from latest group by fingerprint, kind_id, workflow_id
    ), alike as (
      select fingerprint, kind_id, sum(tasks)::bigint as tasks, count(*) as runs, max(last_at) as last_at
      from by_run group by fingerprint, kind_id order by sum(tasks) desc, max(last_at) desc limit $3
    )
    select a.fingerprint::text as fingerprint, k.name as kind, a.tasks, a.runs, a.last_at, s.task_id,
      (select min(f.ended_at) from failure f where f.fingerprint = a.fingerprint
        and f.ended_at > $1::timestamptz - interval '1 day') as first_at,
      t.name, t.reason, failure_pattern(t.reason) as pattern, t.workflow_id, w.name as workflow_name,
      (select count(*) from latest) as examined
    from alike a join kind k on k.id = a.kind_id
    cross join lateral (select f.task_id from failure f where f.fingerprint = a.fingerprint
      order by f.ended_at desc, f.task_id desc limit 1) s
    left join lateral (select t.name, t.reason, t.workflow_id from task_all t where t.id = s.task_id limit 1) t on true
    left join lateral (select w.name from workflow_all w where w.id = t.workflow_id limit 1) w on true
    order by a.tasks desc, a.last_at desc`,
};

const LIST: Statement = {
  name: 'failures.list',
  text: `with page as (
      select f.task_id, f.workflow_id, f.kind_id, f.fingerprint, f.ended_at from failure f
      where f.fingerprint = $1::bigint
        and ($2::timestamptz is null or (f.ended_at, f.task_id) < ($2::timestamptz, $3::uuid))
      order by f.ended_at desc, f.task_id desc limit $4
    )
    select p.task_id, t.name, k.name as kind, t.reason, p.workflow_id, w.name as workflow_name, p.ended_at,
      to_char(p.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as cursor_at
    from page p join kind k on k.id = p.kind_id
    left join lateral (select t.name, t.reason from task_all t where t.id = p.task_id limit 1) t on true
    left join lateral (select w.name from workflow_all w where w.id = p.workflow_id limit 1) w on true
    order by p.ended_at desc, p.task_id desc`,
};

export interface FailingRow {
  fingerprint: string;
  kind: string;
  tasks: number;
  runs: number;
  first_at: number;
  last_at: number;
  task_id: string;
  name: string | null;
  reason: string | null;
  pattern: string | null;
  workflow_id: string | null;
  workflow_name: string | null;
  /** Failures that were grouped, of all groups: one more than the cap if there are more. */
  examined: number;
}

export interface FailureRow {
  task_id: string;
  name: string | null;
  kind: string;
  reason: string | null;
  workflow_id: string;
  workflow_name: string | null;
  ended_at: number;
  /** The exact time, for the cursor. */
  cursor_at: string;
}

export function findFailing(queryable: Queryable, now: number): Promise<FailingRow[]> {
  return queryable.query(FAILING, [new Date(now).toISOString(), COUNT_CAP, GROUPS_MAX]);
}

/** The failures of a fingerprint before a position, newest first. */
export function findFailures(
  queryable: Queryable,
  fingerprint: string,
  before: { at: string; id: string } | null,
  limit: number,
): Promise<FailureRow[]> {
  return queryable.query(LIST, [fingerprint, before?.at ?? null, before?.id ?? null, limit]);
}
