-- Decides which tasks of a claim rules let start, and takes their slots.
-- Locks: slots by id, below the tasks that the claim holds.
-- Callers: claim, and demand_of_tasks (runner_tasks.sql).

-- Decides which of the locked pending tasks may start, in the order given, and takes their slots, all or none per task.
-- Tasks that may not start move from the ready lanes to the lane of the slot that blocked them.
-- p_grants: per task the slots that were handed to its ready row already, as text of an array, or null.
-- p_demand: what demand_of says of them, if the caller knows it.
create or replace function admit(p_ids uuid[], p_lanes integer[], p_grants text[], p_demand slot_demand)
returns uuid[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_ids uuid[] := p_ids;
  v_demand slot_demand := p_demand;
  v_contended bigint[];
  v_used bigint[];
  v_refused uuid[];
  v_refused_slots bigint[];
begin
  if cardinality(array_remove(p_grants, null)) > 0 then
    v_ids := without_grants(p_ids, p_grants);
  end if;
  while coalesce(v_demand.stale, v_demand.slots is null) loop
    v_demand := demand_of(v_ids);
    exit when not coalesce(v_demand.stale, false);
    perform refresh_slots(v_ids);
  end loop;
  if v_demand.slots is null then return p_ids; end if;
  perform lock_slots(v_demand.slots, v_ids);

  -- Slots that cannot hold all that this set requests; tasks of other slots need no individual check.
  select array_agg(s.id), array_agg(s.used) into v_contended, v_used
  from unnest(v_demand.slots, v_demand.amounts, v_demand.maxima, v_demand.outside) d(slot, amount, max, outside)
  join slot s on s.id = d.slot
  where d.max is not null and s.used + d.amount + d.outside::integer > d.max;
  if v_contended is null then
    perform take_slots(v_demand);
    return p_ids;
  end if;

  select r.o_ids, r.o_slots into v_refused, v_refused_slots
  from refused_by_slots(array(
    select u.id from unnest(p_ids) with ordinality u(id, ord) join unnest(v_ids) i(id) on i.id = u.id order by u.ord),
    v_contended, v_used) r;
  if cardinality(v_refused) = 0 then
    perform take_slots(v_demand);
  else
    perform block_tasks(p_ids, p_lanes, v_refused, v_refused_slots);
    perform take_slots(demand_of(array(
      select u.id from unnest(v_ids) u(id) left join unnest(v_refused) r(id) on r.id = u.id where r.id is null)));
  end if;
  -- Capacity that this set did not use after all, because one of a task's slots rejected it, goes to waiting tasks.
  perform grant_slots(v_demand.slots);
  if cardinality(v_refused) = 0 then return p_ids; end if;
  return array(
    select u.id from unnest(p_ids) with ordinality u(id, ord) left join unnest(v_refused) r(id) on r.id = u.id
    where r.id is null order by u.ord);
end $$;

-- What these tasks take of slots and what their rules check, by slot. Tasks of the same slots and limits are counted at once:
-- mostly a set has one rule.
create or replace function demand_of(p_ids uuid[])
returns slot_demand language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_demand slot_demand;
begin
  with alike as materialized (
    select t.wants, t.rule_slots, t.rule_max, count(*) as tasks,
      sum(slot_amount(1, t.expected_count, t.success_count, t.failure_count)) as work,
      bool_or(t.slot_version <> k.slot_version) as stale
    from task t join kind k on k.id = t.kind_id where t.id = any(p_ids)
    group by t.wants, t.rule_slots, t.rule_max
  ), needs as (
    select w.slot, case when w.slot & 1 = 0 then a.tasks else a.work end as amount, null::bigint as max, false as outside
    from alike a, unnest(a.wants) w(slot)
    union all
    select r.slot, 0, r.max, r.slot & 1 = 1 or r.slot <> all(coalesce(a.wants, '{}'))
    from alike a, unnest(a.rule_slots, a.rule_max) r(slot, max)
  ), by_slot as (
    select n.slot, sum(n.amount)::bigint as amount, min(n.max) as max, bool_or(n.outside) as outside
    from needs n group by n.slot
  )
  select array_agg(b.slot), array_agg(b.amount), array_agg(b.max), array_agg(b.outside),
    (select bool_or(a.stale) from alike a)
  into v_demand from by_slot b;
  return v_demand;
end $$;

-- What demand_of says of locked tasks that are alike; null if they take capacity, whose amount is each task's own, or if their
-- slots were computed for an older version of their kind.
create or replace function demand_of_alike(p_locked locked)
returns slot_demand language plpgsql as $$
declare
  v_demand slot_demand;
begin
  select array_agg(s.slot), array_agg(s.amount), array_agg(s.max), array_agg(s.outside)
  into v_demand.slots, v_demand.amounts, v_demand.maxima, v_demand.outside
  from (
    select n.slot, max(n.amount) as amount, min(n.max) as max, max(n.amount) = 0 as outside
    from (
      select w.slot, cardinality(p_locked.ids)::bigint as amount, null::bigint as max from unnest(p_locked.wants) w(slot)
      union all
      select r.slot, 0, r.max from unnest(p_locked.rule_slots, p_locked.rule_max) r(slot, max)) n
    group by n.slot
    having (select k.slot_version from kind k where k.id = p_locked.kinds[1]) = p_locked.slot_version) s;
  if v_demand.slots is null or exists (select 1 from unnest(v_demand.slots) s(slot) where s.slot & 1 = 1) then
    return null;
  end if;
  v_demand.stale := false;
  return v_demand;
end $$;

-- Takes what some tasks request of slots, which the caller has locked.
create or replace function take_slots(p_demand slot_demand)
returns void language plpgsql as $$
begin
  update slot s set used = s.used + d.amount
  from unnest(p_demand.slots, p_demand.amounts) d(slot, amount) where s.id = d.slot and d.amount <> 0;
end $$;

-- Returns the tasks that were not handed the slots they want; outdated grants are returned.
create or replace function without_grants(p_ids uuid[], p_grants text[])
returns uuid[] language plpgsql as $$
declare
  v_ids uuid[];
begin
  perform refresh_slots(p_ids);
  v_ids := array(
    select u.id from unnest(p_ids, p_grants) u(id, granted) join task t on t.id = u.id
    where u.granted is null or t.wants is null or not u.granted::bigint[] = t.wants);
  perform return_slots(array_agg(g.slot), array_agg(1::bigint))
  from unnest(p_ids, p_grants) u(id, granted) join unnest(v_ids) i(id) on i.id = u.id,
    unnest(u.granted::bigint[]) g(slot)
  having count(*) > 0;
  return v_ids;
end $$;

-- Moves refused tasks to the lanes of the slots that block them. p_lanes: the lanes of p_ids.
create or replace function block_tasks(p_ids uuid[], p_lanes integer[], p_refused uuid[], p_slots bigint[])
returns void language plpgsql as $$
begin
  insert into blocked (slot_id, rank, task_id, lane, max, sole)
  select r.slot, -t.priority, t.id, u.lane, t.rule_max[array_position(t.rule_slots, r.slot)],
    coalesce(t.wants = array[r.slot] and r.slot & 1 = 0 and t.rule_slots = array[r.slot], false)
  from unnest(p_refused, p_slots) r(id, slot)
  join task t on t.id = r.id join unnest(p_ids, p_lanes) u(id, lane) on u.id = r.id
  on conflict do nothing;
end $$;

-- Returns which of these tasks, in order, a slot blocks, each with that slot, if they began one after the other: p_used
-- is the amount taken from the slots before the first.
create or replace function refused_by_slots(p_ids uuid[], p_slots bigint[], p_used bigint[], out o_ids uuid[], out o_slots bigint[])
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_task record;
  v_at integer;
  v_stop bigint;
begin
  o_ids := '{}';
  o_slots := '{}';
  for v_task in
    select t.id, t.expected_count, t.success_count, t.failure_count, t.wants, t.rule_slots, t.rule_max
    from unnest(p_ids) with ordinality u(id, ord) join task t on t.id = u.id
    where t.wants && p_slots or t.rule_slots && p_slots
    order by u.ord
  loop
    v_stop := null;
    for i in 1 .. coalesce(cardinality(v_task.rule_slots), 0) loop
      v_at := array_position(p_slots, v_task.rule_slots[i]);
      if v_at is not null and p_used[v_at] >= v_task.rule_max[i] then
        v_stop := v_task.rule_slots[i];
        exit;
      end if;
    end loop;
    if v_stop is not null then
      o_ids := o_ids || v_task.id;
      o_slots := o_slots || v_stop;
      continue;
    end if;
    for i in 1 .. coalesce(cardinality(v_task.wants), 0) loop
      v_at := array_position(p_slots, v_task.wants[i]);
      if v_at is not null then
        p_used[v_at] := p_used[v_at] + slot_amount(v_task.wants[i], v_task.expected_count, v_task.success_count,
          v_task.failure_count);
      end if;
    end loop;
  end loop;
end $$;

-- Locks slots that these tasks take or check, in the order of their ids; idle ones are deleted, so any may be missing.
create or replace function lock_slots(p_slots bigint[], p_tasks uuid[])
returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_locked integer;
begin
  loop
    perform 1 from slot where id = any(p_slots) order by id for no key update;
    get diagnostics v_locked = row_count;
    exit when v_locked = cardinality(p_slots);
    insert into slot (id, shape_id, key)
    select distinct on (n.id) n.id, n.shape_id, n.key from (
      select slot_of(s.id, s.type, s.fields, t.metadata) as id, s.id as shape_id, slot_key_of(s.fields, t.metadata) as key
      from task t join shape s on s.kind_id = t.kind_id or s.id in (
        select r.shape from rules_of(t.rule_set_id, t.id) r where t.rule_slots is not null)
      where t.id = any(p_tasks)) n
    order by n.id on conflict do nothing;
  end loop;
end $$;

-- The slots that a task's own rules check, for metadata that changed.
create or replace function rule_slots_of(p_set integer, p_task uuid, p_metadata jsonb)
returns bigint[] language sql stable as $$
  select slots_of_shapes(array_agg(r.shape order by r.ord), p_metadata) from rules_of(p_set, p_task) r
$$;

-- Recomputes the slots of pending tasks that were computed for an older version of their kind, or for metadata that has
-- changed since.
create or replace function refresh_slots(p_ids uuid[])
returns void language sql as $$
  update task t set wants = wanted_slots(t.kind_id, t.metadata), slot_version = k.slot_version,
    rule_slots = case when t.rule_slots is null then null else rule_slots_of(t.rule_set_id, t.id, t.metadata) end
  from kind k where k.id = t.kind_id and t.id = any(p_ids) and t.slot_version <> k.slot_version
$$;
