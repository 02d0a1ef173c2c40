-- Decides which tasks of a claim rules let start, and takes their slots.
-- Locks: slots by id, below the tasks that the claim holds.
-- Callers: claim, and demand_of_tasks (runner_tasks.sql).

-- Decides which of the locked pending tasks may start, in the order given, and takes their slots, all or none per task.
-- Tasks that may not start move from the ready lanes to the lane of the slot that blocked them.
-- p_grants: per task the slots that were handed to its ready row already, as text of an array, or null.
create or replace function admit(p_ids uuid[], p_lanes integer[], p_grants text[])
returns uuid[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_ids uuid[] := p_ids;
  v_stale boolean;
  -- The needs of the tasks, flat: a slot that is taken (no max) or only checked (max).
  v_need_tasks uuid[];
  v_need_slots bigint[];
  v_need_amounts bigint[];
  v_need_maxima bigint[];
  v_need_outside boolean[];
  v_slots bigint[];
  v_contended bigint[];
  v_used bigint[];
  v_refused uuid[] := '{}';
  v_refused_slots bigint[] := '{}';
begin
  if cardinality(array_remove(p_grants, null)) > 0 then
    v_ids := without_grants(p_ids, p_grants);
  end if;
  loop
    select array_agg(t.id) filter (where n.slot is not null), array_agg(n.slot) filter (where n.slot is not null),
      array_agg(n.amount) filter (where n.slot is not null), array_agg(n.max) filter (where n.slot is not null),
      array_agg(n.outside) filter (where n.slot is not null), bool_or(t.slot_version <> k.slot_version)
    into v_need_tasks, v_need_slots, v_need_amounts, v_need_maxima, v_need_outside, v_stale
    from task t join kind k on k.id = t.kind_id
    left join lateral (
      select w.slot, slot_amount(w.slot, t.expected_count, t.success_count, t.failure_count) as amount,
        null::bigint as max, false as outside
      from unnest(t.wants) w(slot)
      union all
      select r.slot, 0, r.max, r.slot & 1 = 1 or r.slot <> all(coalesce(t.wants, '{}'))
      from unnest(t.rule_slots, t.rule_max) r(slot, max)) n on true
    where t.id = any(v_ids);
    exit when not coalesce(v_stale, false);
    perform refresh_slots(v_ids);
  end loop;
  if v_need_slots is null then return p_ids; end if;

  v_slots := array(select distinct n.slot from unnest(v_need_slots) n(slot));
  perform lock_slots(v_slots, v_ids);

  -- Slots that cannot hold all that this set requests; tasks of other slots need no individual check.
  with demand as (
    select n.slot, sum(n.amount) as amount, min(n.max) as max, bool_or(n.outside) as outside
    from unnest(v_need_slots, v_need_amounts, v_need_maxima, v_need_outside) n(slot, amount, max, outside)
    group by n.slot
  )
  select array_agg(d.slot), array_agg(s.used) into v_contended, v_used
  from demand d join slot s on s.id = d.slot
  where d.max is not null and s.used + d.amount + d.outside::integer > d.max;

  if v_contended is not null then
    select r.o_ids, r.o_slots into v_refused, v_refused_slots
    from refused_by_slots(array(
      select u.id from unnest(p_ids) with ordinality u(id, ord) join unnest(v_ids) i(id) on i.id = u.id order by u.ord),
      v_contended, v_used) r;
    perform block_tasks(p_ids, p_lanes, v_refused, v_refused_slots);
  end if;

  update slot s set used = s.used + d.amount
  from (
    select n.slot, sum(n.amount) as amount
    from unnest(v_need_tasks, v_need_slots, v_need_amounts, v_need_maxima) n(id, slot, amount, max)
    left join unnest(v_refused) r(id) on r.id = n.id
    where n.max is null and r.id is null group by n.slot) d
  where s.id = d.slot and d.amount <> 0;
  -- Capacity that this set did not use after all, because one of a task's slots rejected it, goes to waiting tasks.
  if v_contended is not null then
    perform grant_slots(v_slots);
  end if;
  if cardinality(v_refused) = 0 then return p_ids; end if;
  return array(
    select u.id from unnest(p_ids) with ordinality u(id, ord) left join unnest(v_refused) r(id) on r.id = u.id
    where r.id is null order by u.ord);
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
        select (r.value ->> 0)::integer from task_spec sp, jsonb_array_elements(sp.rules -> 'shapes') r
        where sp.task_id = t.id and t.rule_slots is not null)
      where t.id = any(p_tasks)) n
    order by n.id on conflict do nothing;
  end loop;
end $$;

-- The slots that a task's own rules check, for metadata that changed.
create or replace function rule_slots_of(p_task uuid, p_metadata jsonb)
returns bigint[] language sql stable as $$
  select array_agg(slot_of(s.id, s.type, s.fields, p_metadata) order by r.ord)
  from task_spec sp, jsonb_array_elements(sp.rules -> 'shapes') with ordinality r(value, ord)
  join shape s on s.id = (r.value ->> 0)::integer
  where sp.task_id = p_task
$$;

-- Recomputes the slots of pending tasks that were computed for an older version of their kind, or for metadata that has
-- changed since.
create or replace function refresh_slots(p_ids uuid[])
returns void language sql as $$
  update task t set wants = wanted_slots(t.kind_id, t.metadata), slot_version = k.slot_version,
    rule_slots = case when t.rule_slots is null then null else rule_slots_of(t.id, t.metadata) end
  from kind k where k.id = t.kind_id and t.id = any(p_ids) and t.slot_version <> k.slot_version
$$;
