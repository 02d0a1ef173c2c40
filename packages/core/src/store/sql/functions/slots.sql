-- Slots of concurrency and capacity rules: what tasks take of them, and who gets what becomes free.
-- Locks: kinds (register_shape, exclusively), then tasks, then slots by id, then ready rows.
-- Callers: claim, settle, conclude, update, cancel, retry, heartbeat and sweep; store/kinds.ts, store/transitions.ts.

-- Returns the slot of some metadata under a shape; a missing field counts as null. With up to two fields the planner puts
-- the expression in place of the call, which it cannot do with a subquery: a call costs more than all else about a row.
create or replace function slot_of(p_shape integer, p_type smallint, p_fields text[], p_metadata jsonb)
returns bigint language sql immutable as $$
  select (hashtextextended(
    case cardinality(p_fields)
      when 0 then '[]'
      when 1 then '[' || coalesce((p_metadata -> p_fields[1])::text, 'null') || ']'
      when 2 then '[' || coalesce((p_metadata -> p_fields[1])::text, 'null') || ', '
        || coalesce((p_metadata -> p_fields[2])::text, 'null') || ']'
      else slot_key_of(p_fields, p_metadata)::text end,
    p_shape) & -2) | (case when p_type = :rule_capacity then 1 else 0 end)
$$;

create or replace function slot_key_of(p_fields text[], p_metadata jsonb)
returns jsonb language sql immutable as $$
  select coalesce(jsonb_agg(coalesce(p_metadata -> f.name, 'null'::jsonb) order by f.ord), '[]'::jsonb)
  from unnest(p_fields) with ordinality f(name, ord)
$$;

-- How much of a slot a task takes: 1 of a concurrency slot, its remaining work of a capacity slot.
create or replace function slot_amount(p_slot bigint, p_expected bigint, p_success bigint, p_failure bigint)
returns bigint language sql immutable as $$
  select case when p_slot & 1 = 0 then 1 else greatest(coalesce(p_expected, 0) - p_success - p_failure, 0) end
$$;

-- What these tasks hold of which slots. Tasks that hold the same are counted at once: mostly a set holds one slot.
create or replace function held_slots(p_ids uuid[], out slots bigint[], out amounts bigint[])
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  select array_agg(a.slot), array_agg(a.amount) into slots, amounts from (
    select h.slot, sum(case when h.slot & 1 = 0 then g.tasks else g.work end)::bigint as amount
    from (
      select t.slots, count(*) as tasks, sum(slot_amount(1, t.expected_count, t.success_count, t.failure_count)) as work
      from task t where t.id = any(p_ids) and t.slots is not null group by t.slots) g, unnest(g.slots) h(slot)
    group by h.slot) a;
end $$;

-- As held_slots, for tasks that all hold p_held, or, if that is null, whatever they hold. Capacity is each task's own.
create or replace function held_by(p_ids uuid[], p_held bigint[], out slots bigint[], out amounts bigint[])
language plpgsql stable as $$
begin
  if p_held is null or exists (select 1 from unnest(p_held) h(slot) where h.slot & 1 = 1) then
    select h.slots, h.amounts into slots, amounts from held_slots(p_ids) h;
  else
    slots := p_held;
    amounts := array_fill(cardinality(p_ids)::bigint, array[cardinality(p_held)]);
  end if;
end $$;

-- Hands free capacity of these slots (locked by the caller) to the oldest tasks that wait for it; returns the lanes
-- where tasks became ready. A task that needs only this slot gets it here; others return to be claimed with all needs.
create or replace function grant_slots(p_slots bigint[])
returns integer[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_slot record;
  v_waiter record;
  v_used bigint;
  v_moved bigint;
  v_lanes integer[] := '{}';
begin
  for v_slot in
    select s.id, s.used from slot s
    where s.id = any(p_slots) and exists (select 1 from blocked b where b.slot_id = s.id and b.max > s.used)
    order by s.id
  loop
    v_used := v_slot.used;
    v_moved := 0;
    for v_waiter in
      select b.slot_id, b.rank, b.task_id, b.lane, b.max, b.sole, t.id is not null as pending
      from (
        select x.* from blocked x where x.slot_id = v_slot.id and x.max > v_slot.used
        order by x.rank, x.task_id limit 2000) b
      left join task t on t.id = b.task_id and (t.state + 0) = :pending
      order by b.rank, b.task_id
    loop
      exit when v_moved >= 256;
      if not v_waiter.pending then
        delete from blocked b
        where b.slot_id = v_waiter.slot_id and b.rank = v_waiter.rank and b.task_id = v_waiter.task_id;
        continue;
      end if;
      continue when v_used + v_moved >= v_waiter.max;
      delete from blocked b
      where b.slot_id = v_waiter.slot_id and b.rank = v_waiter.rank and b.task_id = v_waiter.task_id;
      insert into ready (lane, rank, task_id, slots)
      values (v_waiter.lane, v_waiter.rank, v_waiter.task_id, case when v_waiter.sole then array[v_slot.id] end)
      on conflict do nothing;
      if found then
        if v_waiter.sole then v_used := v_used + 1; else v_moved := v_moved + 1; end if;
        if not v_waiter.lane = any(v_lanes) then v_lanes := v_lanes || v_waiter.lane; end if;
      end if;
    end loop;
    if v_used <> v_slot.used then
      update slot set used = v_used where id = v_slot.id;
    end if;
  end loop;
  return v_lanes;
end $$;

-- Returns amounts to slots and serves waiting tasks. Slots are locked in the order of their ids, and the new counts are
-- read in the next statement: the locking statement would read them in an older snapshot.
create or replace function return_slots(p_slots bigint[], p_amounts bigint[])
returns integer[] language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  if p_slots is null then return '{}'; end if;
  perform 1 from slot where id = any(p_slots) order by id for no key update;
  update slot s set used = s.used - a.amount
  from (select u.slot, sum(u.amount) as amount from unnest(p_slots, p_amounts) u(slot, amount) group by u.slot) a
  where s.id = a.slot;
  return grant_slots(p_slots);
end $$;

-- Offers to others what these pending tasks were released to claim but will not: a task that waits for one of several
-- slots is moved to its lane when the slot has free capacity, and no slot is reserved for it.
create or replace function yield_slots(p_tasks uuid[])
returns integer[] language plpgsql as $$
declare
  v_slots bigint[];
begin
  select array_agg(distinct r.slot) into v_slots from task t, unnest(t.rule_slots) r(slot) where t.id = any(p_tasks);
  return return_slots(v_slots, array_fill(0::bigint, array[coalesce(cardinality(v_slots), 0)]));
end $$;

-- Finds slots with free capacity and waiting tasks that no returned slot has served: the fallback of the sweep.
create or replace function regrant(p_limit integer)
returns integer[] language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_slots bigint[];
begin
  with recursive waiting(slot_id, n) as (
    (select b.slot_id, 1 from blocked b order by b.slot_id limit 1)
    union all
    select (select b.slot_id from blocked b where b.slot_id > w.slot_id order by b.slot_id limit 1), w.n + 1
    from waiting w where w.slot_id is not null and w.n < p_limit
  )
  select array_agg(w.slot_id) into v_slots from waiting w join slot s on s.id = w.slot_id
  where exists (select 1 from blocked b where b.slot_id = s.id and b.max > s.used);
  return return_slots(v_slots, array_fill(0::bigint, array[coalesce(cardinality(v_slots), 0)]));
end $$;

-- The number of shapes of each kind and, for the usual case of one, the shape. The setting keeps the planner from putting the
-- query in place of the call, where it might run for each task.
create or replace function counted_kinds(p_kinds integer[])
returns table (id integer, version integer, shapes bigint, shape integer, type smallint, fields text[], whole_slot bigint)
language sql stable rows 10 set plan_cache_mode = force_generic_plan as $$
  select k.id, k.slot_version, count(s.id), min(s.id), min(s.type), min(s.fields), min(s.whole_slot)
  from kind k left join shape s on s.kind_id = k.id where k.id = any(p_kinds) group by k.id
$$;

-- The slots that a task of a kind takes while an attempt is open.
create or replace function wanted_slots(p_kind integer, p_metadata jsonb)
returns bigint[] language sql stable as $$
  select array_agg(coalesce(s.whole_slot, slot_of(s.id, s.type, s.fields, p_metadata)))
  from shape s where s.kind_id = p_kind
$$;

-- The slots of some metadata under these shapes, in their order; null if there are none.
create or replace function slots_of_shapes(p_shapes integer[], p_metadata jsonb)
returns bigint[] language sql stable strict as $$
  select array_agg(coalesce(s.whole_slot, slot_of(s.id, s.type, s.fields, p_metadata)) order by u.ord)
  from unnest(p_shapes) with ordinality u(shape, ord) join shape s on s.id = u.shape
$$;

-- What tasks that hold capacity slots return for this much work done (one entry per task), before it is counted.
create or replace function freed_by_progress(p_holders uuid[], p_ids uuid[], p_success bigint[], p_failure bigint[],
  out slots bigint[], out amounts bigint[])
language sql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
  select array_agg(h.slot), array_agg(
    slot_amount(h.slot, t.expected_count, t.success_count, t.failure_count)
    - slot_amount(h.slot, t.expected_count, t.success_count + u.s, t.failure_count + u.f))
  from unnest(p_holders) w(id) join task t on t.id = w.id
  join unnest(p_ids, p_success, p_failure) u(id, s, f) on u.id = w.id, unnest(t.slots) h(slot)
  where h.slot & 1 = 1
$$;

-- Registers a rule shape once: from then on every task of the kind is counted. Open attempts are counted in the same
-- transaction; the exclusive lock on the kind keeps claims out until it commits.
create or replace function register_shape(p_kind integer, p_type smallint, p_fields text[])
returns integer language plpgsql as $$
declare
  v_shape integer;
  v_open uuid[];
begin
  select id into v_shape from shape where kind_id = p_kind and type = p_type and fields = p_fields;
  if found then return v_shape; end if;
  perform pg_advisory_xact_lock(7201, p_kind);
  insert into shape (kind_id, type, fields) values (p_kind, p_type, p_fields)
  on conflict (kind_id, type, fields) do nothing returning id into v_shape;
  if v_shape is null then
    select id into v_shape from shape where kind_id = p_kind and type = p_type and fields = p_fields;
    return v_shape;
  end if;
  if p_fields = '{}' then
    update shape set whole_slot = slot_of(v_shape, p_type, p_fields, '{}') where id = v_shape;
  end if;
  update kind set slot_version = slot_version + 1 where id = p_kind;
  select array_agg(t.id) into v_open from (
    select t.id from task t
    where t.id in (select unnest(l.task_ids) from lease l) and t.kind_id = p_kind and t.lease_id is not null
      and ((t.state + 0) in (:claimed, :running, :expanding)
        or (t.state = :paused and t.paused_from in (:claimed, :running, :expanding)) or t.state >= :terminal)
    order by t.id for no key update) t;
  if v_open is null then return v_shape; end if;
  insert into slot (id, shape_id, key)
  select distinct slot_of(v_shape, p_type, p_fields, t.metadata), v_shape, slot_key_of(p_fields, t.metadata)
  from task t where t.id = any(v_open) on conflict do nothing;
  update task t set slots = coalesce(t.slots, '{}') || slot_of(v_shape, p_type, p_fields, t.metadata)
  where t.id = any(v_open);
  update slot s set used = s.used + o.amount
  from (select n.slot, sum(slot_amount(n.slot, n.expected_count, n.success_count, n.failure_count)) as amount
        from (select slot_of(v_shape, p_type, p_fields, t.metadata) as slot, t.expected_count, t.success_count,
                t.failure_count
              from task t where t.id = any(v_open)) n group by n.slot) o
  where s.id = o.slot;
  return v_shape;
end $$;
