-- Lanes of ready rows. Callers: whatever makes tasks ready; store/obstacles.ts.

-- The lane of a task's ready row: 0 for those that start by a webhook, -1 for those that require a runner and have
-- none, asked_lane() once they have requested it, else the kind. A runner's lane is its negated number. The planner
-- inlines it.
create or replace function lane_of(p_starts_by_webhook boolean, p_needs_runner boolean, p_kind integer)
returns integer language sql immutable parallel safe as $$
  select case when p_starts_by_webhook then :lane_webhook when p_needs_runner then :lane_runners else p_kind end
$$;

-- Removes the places in which these tasks, which are no longer pending, wait, so that nobody counts them. A claim that has
-- locked one removes it itself, and one with granted slots returns them then.
create or replace function leave_lanes(p_ids uuid[])
returns void language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
begin
  delete from ready where ctid = any(array(
    select r.ctid from task t join ready r
      on r.lane = lane_of(t.starts_by_webhook, t.needs_runner, t.kind_id) and r.rank = -t.priority and r.task_id = t.id
    where t.id = any(p_ids) and r.slots is null for update of r skip locked));
  delete from blocked where ctid = any(array(
    select b.ctid from task t cross join unnest(t.rule_slots) s(id) join blocked b
      on b.slot_id = s.id and b.rank = -t.priority and b.task_id = t.id
    where t.id = any(p_ids) for update of b skip locked));
  delete from delayed where ctid = any(array(
    select d.ctid from task t join delayed d on d.run_at = t.run_at and d.task_id = t.id
    where t.id = any(p_ids) for update of d skip locked));
end $$;

-- The lane of tasks that have requested a runner and wait for it, so that the search for new requests skips them. No
-- runner has this number.
create or replace function asked_lane()
returns integer language sql immutable parallel safe as $$
  select -2147483647
$$;
