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
  if exists (select 1 from unnest(p_grants) g(slots) where g.slots is not null) then
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

-- Every function that begins a transition restricts the planner to index scans: its estimates of transient states and
-- of limits it cannot see are always wrong, and one full table scan costs more than thousands of tasks.
--
-- Locks the shapes of these kinds until the end of the transaction. The first lock of any, in order.
create or replace function lock_kinds(p_kinds integer[])
returns void language sql as $$
  select pg_advisory_xact_lock_shared(7201, o.k) from (select distinct u.k from unnest(p_kinds) u(k) where u.k > 0 order by 1) o
$$;

-- Claims pending tasks of these lanes, highest priority first, oldest first among equals. p_start says how they start:
-- 'run': at once, the claimer runs them itself; 'deliver': they are claimed and their start deliveries are written
-- (lane 0); 'queue': they are claimed and the caller writes them into the queue of their kind, the only lane.
-- p_lease_ms: the lease without a heartbeat; null: until its deadline. Returns them in the order of the claim; if rules
-- blocked tasks, a last row without an id has their number in waited_ms.
create or replace function claim(p_lanes integer[], p_limit integer, p_holder text, p_start text,
  p_claim_timeout_ms integer, p_lease_ms integer, p_now timestamptz)
returns table (id uuid, workflow_id uuid, kind_id integer, name text, attempt integer, metadata jsonb,
  timeout_secs integer, deadline_basis smallint, linked boolean, container_id uuid, local_id text, computed boolean, waited_ms bigint)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_picked picked := pick_ready(p_lanes, p_limit);
  v_ids uuid[];
  v_locked uuid[];
  v_kinds integer[];
  v_ruled boolean;
  v_latest timestamptz;
  v_lease bigint;
  v_refused integer := 0;
begin
  if v_picked.ids is null then return; end if;
  perform lock_kinds_of(v_picked);
  -- A task locked by another transaction keeps its ready row and is found again.
  select array_agg(t.id), array_agg(distinct t.kind_id) filter (where t.state + 0 = :pending),
    bool_or(t.rule_slots is not null), max(t.run_at) filter (where t.state + 0 = :pending)
  into v_locked, v_kinds, v_ruled, v_latest
  from (
    select t.id, t.kind_id, t.state, t.rule_slots, t.run_at from task t
    where t.id = any(v_picked.ids) order by t.id for no key update skip locked) t;
  if v_locked is null then return; end if;
  -- Read only now: a task may have become ready after this function began, and its time must not be after the claim's.
  v_now := coalesce(p_now, clock_timestamp());
  if cardinality(v_locked) < cardinality(v_picked.ids) then v_picked := without_others(v_picked, v_locked); end if;
  delete from ready where ctid = any(v_picked.tids);
  if v_latest > v_now then perform delay_again(v_picked.ids, v_now); end if;
  if v_kinds is null then
    perform return_stale_grants(v_picked.ids, v_picked.grants, v_now);
    return;
  end if;
  v_ids := v_picked.ids;
  v_ruled := coalesce(v_ruled, false) or exists (select 1 from shape s where s.kind_id = any(v_kinds))
    or exists (select 1 from unnest(v_picked.grants) g(slots) where g.slots is not null);
  if v_ruled then
    select a.ids, a.refused into v_ids, v_refused from admit_picked(v_picked, v_now) a;
  end if;

  if cardinality(v_ids) > 0 then
    v_lease := nextval('lease_id_seq');
    return query
    with taken as (
      update task t set
        state = case when p_start = 'run' then :running else :claimed end,
        attempt = t.attempt + 1,
        started_at = case when p_start = 'run' then v_now end,
        updated_at = v_now,
        deadline_at = case when p_start = 'run' then v_now + t.timeout_secs * interval '1 second' end,
        lease_id = v_lease,
        slots = case when v_ruled then t.wants end
      where t.id = any(v_ids) and (t.state + 0) = :pending and (t.run_at is null or t.run_at <= v_now)
      returning t.id, t.workflow_id, t.kind_id, t.name, t.attempt, t.metadata, t.timeout_secs,
        t.deadline_basis, t.linked, t.container_id, t.local_id, t.computed, coalesce(t.run_at, t.created_at) as since
    ), leased as (
      insert into lease (id, holder, claimed_at, check_at, open, task_ids, lease_ms, queued_kind)
      overriding system value
      select v_lease, p_holder, v_now,
        case p_start when 'queue' then v_now + interval '1 minute'
          when 'deliver' then v_now + p_claim_timeout_ms * interval '1 millisecond'
          else v_now + least(min(taken.timeout_secs) * interval '1 second', p_lease_ms * interval '1 millisecond') end,
        count(*)::integer, array_agg(taken.id), p_lease_ms, case when p_start = 'queue' then min(taken.kind_id) end
      from taken having count(*) > 0
    )
    select taken.id, taken.workflow_id, taken.kind_id, taken.name, taken.attempt, taken.metadata, taken.timeout_secs,
      taken.deadline_basis, taken.linked, taken.container_id, taken.local_id, taken.computed,
      (extract(epoch from v_now - taken.since) * 1000)::bigint
    from taken join unnest(v_ids) with ordinality o(id, ord) on o.id = taken.id order by o.ord;
    if p_start = 'deliver' then perform write_start_deliveries(v_ids, v_lease, v_now); end if;
  end if;
  if v_refused > 0 then
    return query select null::uuid, null::uuid, null::integer, null, null::integer, null::jsonb, null::integer, null::smallint,
      null::boolean, null::uuid, null, null::boolean, v_refused::bigint;
  end if;
end $$;

-- Locks the ready rows of these lanes, in the order of a claim.
create or replace function pick_ready(p_lanes integer[], p_limit integer)
returns picked language plpgsql as $$
declare
  v_picked picked;
begin
  select array_agg(c.task_id), array_agg(c.tid), array_agg(c.lane), array_agg(c.slots::text) into v_picked
  from (
    select r.tid, r.task_id, r.rank, r.slots, l.lane
    from unnest(p_lanes) l(lane)
    cross join lateral (
      select y.ctid as tid, y.task_id, y.rank, y.slots from ready y where y.lane = l.lane
      order by y.rank, y.task_id limit p_limit for update skip locked) r
    order by r.rank, r.task_id limit p_limit) c;
  return v_picked;
end $$;

-- Locks the kinds of picked tasks. They come before the tasks: a transaction that stores tasks of a kind may wait for
-- tasks that they depend on. A lane above that of webhooks is a kind.
create or replace function lock_kinds_of(p_picked picked)
returns void language plpgsql as $$
begin
  if :lane_webhook >= any(p_picked.lanes) then
    perform lock_kinds(array(select t.kind_id from task t where t.id = any(p_picked.ids)));
  else
    perform lock_kinds(p_picked.lanes);
  end if;
end $$;

-- Pending tasks that are not due, since a clock was set back, become due once more.
create or replace function delay_again(p_ids uuid[], p_now timestamptz)
returns void language plpgsql as $$
begin
  insert into delayed (run_at, task_id)
  select t.run_at, t.id from task t where t.id = any(p_ids) and (t.state + 0) = :pending and t.run_at > p_now
  on conflict do nothing;
end $$;

-- Removes tasks that exist but are not among the locked ones.
create or replace function without_others(p_picked picked, p_locked uuid[])
returns picked language plpgsql as $$
begin
  if exists (select 1 from task t where t.id = any(p_picked.ids) and t.id <> all(p_locked)) then
    select array_agg(u.id order by u.ord), array_agg(u.tid order by u.ord), array_agg(u.lane order by u.ord),
      array_agg(u.grants order by u.ord)
    into p_picked
    from unnest(p_picked.ids, p_picked.tids, p_picked.lanes, p_picked.grants) with ordinality u(id, tid, lane, grants, ord)
    where not exists (select 1 from task t where t.id = u.id and t.id <> all(p_locked));
  end if;
  return p_picked;
end $$;

-- Returns which of the picked tasks may start, and how many pending ones rules refused.
create or replace function admit_picked(p_picked picked, p_now timestamptz, out ids uuid[], out refused integer)
language plpgsql as $$
declare
  v_lanes integer[];
  v_grants text[];
  v_asked integer;
begin
  refused := 0;
  perform return_stale_grants(p_picked.ids, p_picked.grants, p_now);
  select array_agg(u.id order by u.ord), array_agg(u.lane order by u.ord), array_agg(u.grants order by u.ord)
  into ids, v_lanes, v_grants
  from unnest(p_picked.ids, p_picked.lanes, p_picked.grants) with ordinality u(id, lane, grants, ord)
  join task t on t.id = u.id where t.state + 0 = :pending and (t.run_at is null or t.run_at <= p_now);
  if ids is null then return; end if;
  v_asked := cardinality(ids);
  ids := admit(ids, v_lanes, v_grants);
  refused := v_asked - cardinality(ids);
end $$;

-- Writes the start deliveries of tasks that a claim took under this lease.
create or replace function write_start_deliveries(p_ids uuid[], p_lease bigint, p_now timestamptz)
returns void language plpgsql as $$
begin
  insert into delivery (id, task_id, workflow_id, attempt, trigger, ordinal, origin, action, idempotency_key, state,
    next_try_at, traceparent, created_at)
  select delivery_id(t.id, t.attempt, 'start', 0), t.id, t.workflow_id, t.attempt, 'start', 0, a.value ->> 'origin', a.value,
    t.id || ':start' || case when t.attempt > 1 then ':attempt-' || t.attempt else '' end,
    'due', p_now, w.traceparent, p_now
  from task t join task_spec sp on sp.task_id = t.id
  join workflow w on w.id = t.workflow_id
  cross join jsonb_array_elements(sp.actions) a(value)
  where t.id = any(p_ids) and t.lease_id = p_lease and a.value ->> 'trigger' = 'start'
  on conflict do nothing;
end $$;

-- Returns the slots of ready rows whose task is no longer pending.
create or replace function return_stale_grants(p_ids uuid[], p_grants text[], p_now timestamptz)
returns void language sql as $$
  select return_slots(array_agg(g.slot), array_agg(1::bigint))
  from unnest(p_ids, p_grants) u(id, granted), unnest(u.granted::bigint[]) g(slot)
  where not exists (select 1 from task t where t.id = u.id and (t.state + 0) = :pending
    and (t.run_at is null or t.run_at <= p_now))
  having count(*) > 0
$$;
