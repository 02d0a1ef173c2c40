import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';

/** Pages of `workflow` that are read to count ended tasks: all up to this number, beyond it a sample of this size. */
const SAMPLED_PAGES = 4_000;

/** Rows of the lanes are hints, so a task that was canceled a moment ago may count as pending. */
const COUNT_OPEN: Statement = {
  name: 'tasks.count_open',
  text: withCodes(`select
      (select coalesce(sum(remaining), 0) from workflow where ended_at is null) as open,
      (select count(*) from ready) + (select count(*) from blocked) + (select count(*) from delayed) as pending,
      f.claimed, f.running, f.expanding,
      (select count(*) from paused_task p cross join lateral (
        select from task t where t.id = p.task_id and (t.state + 0) = :paused offset 0) t) as paused
    from (
      select count(*) filter (where t.state = :claimed) as claimed, count(*) filter (where t.state = :running) as running,
        count(*) filter (where t.state = :expanding) as expanding
      from lease l cross join unnest(l.task_ids) u(id)
      cross join lateral (select t.state from task t where t.id = u.id and t.lease_id = l.id offset 0) t) f`),
};

const SHARE: Statement = {
  name: 'workflows.sampled_share',
  text: `select least(100, 100.0 * $1 / greatest(1, pg_relation_size('workflow') / current_setting('block_size')::bigint))::float8
    as percent`,
};

/** The same pages are sampled each time, so that the counts change with what they count. */
const COUNT_ENDED: Statement = {
  name: 'workflows.count_ended_tasks',
  text: `select coalesce(sum(succeeded), 0) as succeeded, coalesce(sum(failed), 0) as failed,
      coalesce(sum(canceled), 0) as canceled, coalesce(sum(skipped), 0) as skipped
    from workflow tablesample system ($1) repeatable (0)`,
};

const COUNT_READY_BY_LANE: Statement = {
  name: 'tasks.count_ready_by_lane',
  text: withCodes(`select case when r.lane = :lane_webhook then 'webhook' when r.lane < :lane_webhook then 'runners' else 'kind:' || k.name end as lane, count(*) as n
    from ready r left join kind k on k.id = r.lane group by 1 order by n desc limit $1`),
};

/** "offset 0" keeps the planner to a lookup for each task. */
const COUNT_RUNNING_BY_KIND: Statement = {
  name: 'tasks.count_running_by_kind',
  text: withCodes(`select k.name as kind, count(*) as n
    from lease l cross join unnest(l.task_ids) u(id)
    cross join lateral (select t.kind_id from task t where t.id = u.id and t.lease_id = l.id
      and (t.state + 0) in (:claimed, :running, :expanding) offset 0) t
    join kind k on k.id = t.kind_id group by k.name order by n desc limit $1`),
};

/** Tasks that have not ended, by state; `open` are all of them. */
export interface OpenCounts {
  open: number;
  pending: number;
  claimed: number;
  running: number;
  expanding: number;
  paused: number;
}

/** Ended tasks that are not archived. */
export interface EndedCounts {
  succeeded: number;
  /** Failed, timed out or partially failed. */
  failed: number;
  canceled: number;
  skipped: number;
}

export async function countOpenTasks(queryable: Queryable): Promise<OpenCounts> {
  return (await queryable.query<OpenCounts>(COUNT_OPEN, []))[0]!;
}

/** Counts by the tallies of runs: exactly while these take few pages, else from a sample. */
export async function countEndedTasks(queryable: Queryable, pagesMax = SAMPLED_PAGES): Promise<EndedCounts> {
  const [share] = await queryable.query<{ percent: number }>(SHARE, [pagesMax]);
  const { percent } = share!;
  const [sums] = await queryable.query<EndedCounts>(COUNT_ENDED, [percent]);
  const whole = (sampled: number): number => Math.round((sampled * 100) / percent);
  const { succeeded, failed, canceled, skipped } = sums!;
  return { succeeded: whole(succeeded), failed: whole(failed), canceled: whole(canceled), skipped: whole(skipped) };
}

export function countReadyByLane(queryable: Queryable, limit: number): Promise<{ lane: string; n: number }[]> {
  return queryable.query(COUNT_READY_BY_LANE, [limit]);
}

export function countRunningByKind(queryable: Queryable, limit: number): Promise<{ kind: string; n: number }[]> {
  return queryable.query(COUNT_RUNNING_BY_KIND, [limit]);
}
