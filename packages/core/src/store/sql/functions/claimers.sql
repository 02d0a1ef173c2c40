-- Who claims tasks.
-- Locks: none.
-- Callers: store/overview/{waiting,queues}.ts, store/obstacles.ts, store/kind-descriptions.ts.

-- The claimers of these lanes (null: of all) and when each was last seen. A busy worker claims nothing: its presence
-- and its running tasks tell that it lives, looked up for those that have not claimed for a minute.
create or replace function lane_claimers(p_lanes integer[], p_now timestamptz)
returns table (lane integer, holder text, heard_at timestamptz) language sql stable as $$
  with claims as (
    select c.lane, c.holder, greatest(c.seen_at, w.seen_at) as seen_at
    from claimer c left join worker w on w.holder = c.holder and w.left_at is null
    where p_lanes is null or c.lane = any(p_lanes)
  ), held as (
    select l.holder, max(t.updated_at) as heard_at
    from (
      select l.id, l.holder, u.task_id
      from (select id, holder, task_ids from lease where holder in (select c.holder from claims c
          where c.seen_at < coalesce(p_now, clock_timestamp()) - interval '1 minute')
        order by id desc limit 10000) l cross join unnest(l.task_ids) u(task_id)
      limit 10000) l
    cross join lateral (select t.updated_at from task t where t.id = l.task_id and t.lease_id = l.id
      and (t.state + 0) in (:claimed, :running, :expanding) offset 0) t
    group by l.holder
  )
  select c.lane, c.holder, greatest(c.seen_at, h.heard_at) from claims c left join held h on h.holder = c.holder
$$;
