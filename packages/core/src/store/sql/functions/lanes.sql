-- Lanes of ready rows. Callers: whatever makes tasks ready; store/obstacles.ts.

-- The lane of a task's ready row: 0 for those that start by a webhook, -1 for those that require a runner and have
-- none, asked_lane() once they have requested it, else the kind. A runner's lane is its negated number. The planner
-- inlines it.
create or replace function lane_of(p_starts_by_webhook boolean, p_needs_runner boolean, p_kind integer)
returns integer language sql immutable parallel safe as $$
  select case when p_starts_by_webhook then :lane_webhook when p_needs_runner then :lane_runners else p_kind end
$$;

-- Removes the places in which these tasks, which are no longer pending, wait, so that they are not counted. A claim that has
-- locked one removes it itself, and one with granted slots returns them then.
create or replace function leave_lanes(p_ids uuid[])
returns void language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  -- A lookup for each task. Without statistics the planner would take the waiting rows first, and compare each with all
  -- the ids.
  delete from ready where ctid = any(array(
    select r.ctid from unnest(p_ids) p(id)
    cross join lateral (
      select lane_of(t.starts_by_webhook, t.needs_runner, t.kind_id) as lane, -t.priority as rank
      from task t where t.id = p.id offset 0) t
    cross join lateral (
      select r.ctid from ready r where r.lane = t.lane and r.rank = t.rank and r.task_id = p.id and r.slots is null
      for update skip locked) r));
  delete from blocked where ctid = any(array(
    select b.ctid from unnest(p_ids) p(id)
    cross join lateral (
      select s.id as slot_id, -t.priority as rank from task t cross join unnest(t.rule_slots) s(id)
      where t.id = p.id offset 0) t
    cross join lateral (
      select b.ctid from blocked b where b.slot_id = t.slot_id and b.rank = t.rank and b.task_id = p.id
      for update skip locked) b));
  delete from delayed where ctid = any(array(
    select d.ctid from unnest(p_ids) p(id)
    cross join lateral (select t.run_at from task t where t.id = p.id and t.run_at is not null offset 0) t
    cross join lateral (
      select d.ctid from delayed d where d.run_at = t.run_at and d.task_id = p.id for update skip locked) d));
end $$;

-- The lane of tasks that have requested a runner and wait for it, so that the search for new requests skips them. No
-- runner has this number.
create or replace function asked_lane()
returns integer language sql immutable parallel safe as $$
  select -2147483647
$$;

-- Gives these tasks, which the caller has locked, their ready rows, and returns the lanes. A cancellation may have left one
-- that a claim had locked at that time: it serves again. A row costs half as much without the search for such rows, so that
-- larger sets search only if they meet one.
create or replace function enter_lanes(p_rows ready_rows)
returns integer[] language plpgsql as $$
begin
  if p_rows.ids is null then return '{}'; end if;
  if cardinality(p_rows.ids) >= 32 then
    begin
      insert into ready (lane, rank, task_id) select * from unnest(p_rows.lanes, p_rows.ranks, p_rows.ids);
      return array(select distinct unnest(p_rows.lanes));
    exception when unique_violation then null;
    end;
  end if;
  insert into ready (lane, rank, task_id) select * from unnest(p_rows.lanes, p_rows.ranks, p_rows.ids)
  on conflict do nothing;
  return array(select distinct unnest(p_rows.lanes));
end $$;
