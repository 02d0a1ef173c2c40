-- What Home shows of waiting tasks, counted by index up to a bound. The planner is kept to nested loops: one lookup for
-- each lane and slot.
-- Locks: none.
-- Callers: store/overview/waiting.ts.

-- The lanes with ready tasks, runners' own lanes aside, at most p_lanes_max: how many tasks (up to p_tasks_max, and fewer
-- of each where there are many lanes), whether there are more, and the first one with the time since when it is ready.
create or replace function ready_lanes(p_lanes_max integer, p_tasks_max integer)
returns table (lane integer, tasks bigint, more boolean, task_id uuid, name text, since timestamptz)
language sql stable set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  with recursive lanes(lane, place) as (
    (select r.lane, 1 from ready r order by r.lane limit 1)
    union all
    -- Tasks in the lane of a granted runner are about to start.
    select (select r.lane from ready r
      where r.lane > case when l.lane < :lane_runners then :lane_runners - 1 else l.lane end order by r.lane limit 1), l.place + 1
    from lanes l where l.lane is not null and l.place < p_lanes_max
  ), shown as materialized (
    select l.lane from lanes l where l.lane = asked_lane() or l.lane >= :lane_runners
  ), bound as materialized (
    select least(p_tasks_max, greatest(500, 10 * p_tasks_max / greatest(count(*), 1)))::integer as tasks from shown
  )
  select s.lane, least(c.n, b.tasks), c.n > b.tasks, f.id, f.name, f.since
  from bound b cross join shown s
  cross join lateral (
    select count(*) as n from (select 1 from ready r where r.lane = s.lane limit b.tasks + 1) x) c
  -- A row may be of a task that is no longer pending.
  cross join lateral (
    select t.id, t.name, coalesce(t.run_at, t.created_at) as since
    from (select r.rank, r.task_id from ready r where r.lane = s.lane order by r.rank, r.task_id limit 100) r
    join task t on t.id = r.task_id and (t.state + 0) = :pending order by r.rank, r.task_id limit 1) f
$$;

-- Of the slots that pending tasks wait for, the first p_slots_max from p_after on, those p_shown with the most tasks: how
-- many (up to p_tasks_max), whether there are more, and the first one with its limit and the time since when it waits.
create or replace function contended_slots(p_slots_max integer, p_shown integer, p_tasks_max integer, p_after bigint)
returns table (slot_id bigint, tasks bigint, more boolean, max bigint, task_id uuid, name text, since timestamptz)
language sql stable set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  with recursive slots(slot_id, place) as (
    (select b.slot_id, 1 from blocked b where p_after is null or b.slot_id > p_after order by b.slot_id limit 1)
    union all
    select (select b.slot_id from blocked b where b.slot_id > s.slot_id order by b.slot_id limit 1), s.place + 1
    from slots s where s.slot_id is not null and s.place < p_slots_max
  )
  select s.slot_id, least(s.n, p_tasks_max), s.n > p_tasks_max, f.max, f.id, f.name, f.since
  from (
    select l.slot_id, c.n from slots l
    cross join lateral (
      select count(*) as n from (select 1 from blocked b where b.slot_id = l.slot_id limit p_tasks_max + 1) x) c
    where l.slot_id is not null order by c.n desc, l.slot_id limit p_shown) s
  cross join lateral (
    select t.id, t.name, b.max, coalesce(t.run_at, t.created_at) as since
    from (select b.rank, b.task_id, b.max from blocked b where b.slot_id = s.slot_id order by b.rank, b.task_id limit 20) b
    join task t on t.id = b.task_id and (t.state + 0) = :pending order by b.rank, b.task_id limit 1) f
$$;
