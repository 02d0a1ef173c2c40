-- What Home shows of waiting tasks. Everything is counted by index, up to a bound.
-- Locks: none.
-- Callers: store/home.ts, store/places.ts.

-- The lanes with pending tasks, runners' own lanes aside: how many of them (up to p_tasks_max over all lanes, and 100 of
-- each further one), whether there are more, and the first one with the time since when it is ready. At most p_lanes_max.
create or replace function ready_lanes(p_lanes_max integer, p_tasks_max integer)
returns table (lane integer, tasks integer, more boolean, task_id uuid, name text, since timestamptz)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_left integer := p_tasks_max;
  v_limit integer;
  v_rows integer;
  v_lanes integer := 0;
begin
  select r.lane into lane from ready r order by r.lane limit 1;
  while lane is not null and v_lanes < p_lanes_max loop
    -- Tasks in the lane of a granted runner are about to start.
    if lane = asked_lane() or lane >= :lane_runners then
      v_limit := greatest(v_left, 100);
      select count(*), count(t.id), (array_agg(t.id order by o.rank, o.task_id) filter (where t.id is not null))[1],
        (array_agg(t.name order by o.rank, o.task_id) filter (where t.id is not null))[1],
        min(coalesce(t.run_at, t.created_at))
      into v_rows, tasks, task_id, name, since
      from (select r.rank, r.task_id from ready r where r.lane = ready_lanes.lane order by r.rank, r.task_id limit v_limit) o
      left join task t on t.id = o.task_id and (t.state + 0) = :pending;
      more := v_rows = v_limit and tasks > 0;
      v_left := v_left - v_rows;
      if tasks > 0 then
        v_lanes := v_lanes + 1;
        return next;
      end if;
    end if;
    if lane = asked_lane() or lane >= :lane_runners then
      select r.lane into lane from ready r where r.lane > ready_lanes.lane order by r.lane limit 1;
    else
      select r.lane into lane from ready r where r.lane >= :lane_runners order by r.lane limit 1;
    end if;
  end loop;
end $$;

-- The slots that pending tasks wait for: how many of them (up to p_tasks_max over all slots, and 10 of each further one),
-- whether there are more, the limit, and the first one with the time since when it waits. At most p_slots_max, from
-- p_after on.
create or replace function contended_slots(p_slots_max integer, p_tasks_max integer, p_after bigint)
returns table (slot_id bigint, tasks integer, more boolean, max bigint, task_id uuid, name text, since timestamptz)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_left integer := p_tasks_max;
  v_limit integer;
  v_rows integer;
  v_slots integer := 0;
begin
  select b.slot_id into slot_id from blocked b where p_after is null or b.slot_id > p_after order by b.slot_id limit 1;
  while slot_id is not null and v_slots < p_slots_max loop
    v_limit := greatest(v_left, 10);
    select count(*), count(t.id), min(o.max), (array_agg(t.id order by o.rank, o.task_id) filter (where t.id is not null))[1],
      (array_agg(t.name order by o.rank, o.task_id) filter (where t.id is not null))[1],
      min(coalesce(t.run_at, t.created_at))
    into v_rows, tasks, max, task_id, name, since
    from (select b.rank, b.task_id, b.max from blocked b where b.slot_id = contended_slots.slot_id
          order by b.rank, b.task_id limit v_limit) o
    left join task t on t.id = o.task_id and (t.state + 0) = :pending;
    more := v_rows = v_limit and tasks > 0;
    v_left := v_left - v_rows;
    if tasks > 0 then
      v_slots := v_slots + 1;
      return next;
    end if;
    select b.slot_id into slot_id from blocked b where b.slot_id > contended_slots.slot_id order by b.slot_id limit 1;
  end loop;
end $$;
