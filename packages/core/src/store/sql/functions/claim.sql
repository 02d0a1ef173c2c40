-- Claims ready tasks: picks ready rows, locks their kinds and tasks, asks rules, and opens attempts under one lease.
-- Locks: ready rows (skipping locked ones), kinds by number, tasks by id (skipping locked ones), slots by id.
-- Callers: store/claims.ts; dispatch. Functions without settings have those of claim, which calls them.

-- Every function that begins a transition restricts the planner to index scans: its estimates of transient states and
-- of limits it cannot see are always wrong, and one full table scan costs more than thousands of tasks.
--
-- Locks the shapes of these kinds until the end of the transaction. The first lock of any, in order.
create or replace function lock_kinds(p_kinds integer[])
returns void language sql as $$
  select pg_advisory_xact_lock_shared(7201, o.k) from (select distinct u.k from unnest(p_kinds) u(k) where u.k > 0 order by 1) o
$$;

-- A claimed task as it is handed out: the columns of ClaimRow (store/claims.ts). The planner inlines it.
create or replace function claimed_task(p_task task, p_waited_ms bigint)
returns json language sql stable as $$
  select json_build_array((p_task).id, (p_task).workflow_id, (p_task).kind_id, (p_task).name, (p_task).attempt, (p_task).metadata,
    (p_task).timeout_secs, (p_task).deadline_basis, (p_task).linked, (p_task).container_id, (p_task).local_id,
    (p_task).computed, p_waited_ms)
$$;

-- Claims pending tasks of these lanes, highest priority first, oldest first among equals. p_start says how they start:
-- 'run': at once, the claimer runs them itself; 'deliver': they are claimed and their start deliveries are written
-- (lane 0); 'queue': they are claimed and the caller writes them into the queue of their kind, the only lane.
-- p_lease_ms: the lease without a heartbeat; null: until its deadline.
create or replace function claim(p_lanes integer[], p_limit integer, p_holder text, p_start text,
  p_claim_timeout_ms integer, p_lease_ms integer, p_now timestamptz)
returns claimed language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz;
  v_picked picked := pick_ready(p_lanes, p_limit);
  v_ids uuid[];
  v_locked locked;
  v_ruled boolean;
  v_lease bigint;
  v_claimed claimed;
begin
  if v_picked.ids is null then return v_claimed; end if;
  perform lock_kinds_of(v_picked);
  v_locked := lock_picked(v_picked.ids, exists (select 1 from shape s where s.kind_id = any(p_lanes)));
  if v_locked.ids is null then return v_claimed; end if;
  -- Read only now: a task may have become ready after this function began, and its time must not be after the claim's.
  v_now := coalesce(p_now, clock_timestamp());
  if cardinality(v_locked.ids) < cardinality(v_picked.ids) then
    v_picked := without_others(v_picked, v_locked.ids);
  end if;
  delete from ready where ctid = any(v_picked.tids);
  if v_locked.latest > v_now then perform delay_again(v_picked.ids, v_now); end if;
  if v_locked.kinds is null then
    perform return_stale_grants(v_picked.ids, v_picked.grants, v_now);
    return v_claimed;
  end if;
  v_ids := v_picked.ids;
  v_ruled := coalesce(v_locked.ruled, false) or exists (select 1 from shape s where s.kind_id = any(v_locked.kinds))
    or cardinality(array_remove(v_picked.grants, null)) > 0;
  if v_ruled then
    select a.ids, a.refused into v_ids, v_claimed.refused from admit_picked(v_picked, v_locked, v_now) a;
  end if;
  if cardinality(v_ids) = 0 then return v_claimed; end if;

  v_lease := nextval('lease_id_seq');
  with taken as (
    update task t set
      state = case when p_start = 'run' then :running else :claimed end,
      attempt = t.attempt + 1, claimed_by = p_holder, claimed_at = v_now, exit_code = null,
      updated_at = v_now, started_at = case when p_start = 'run' then v_now end,
      deadline_at = case when p_start = 'run' then v_now + t.timeout_secs * interval '1 second' end,
      lease_id = v_lease,
      slots = case when v_ruled then t.wants end
    where t.id = any(v_ids) and (t.state + 0) = :pending and (t.run_at is null or t.run_at <= v_now)
    returning t.id, t.kind_id, t.timeout_secs,
      claimed_task(t, (date_part('epoch', v_now - coalesce(t.run_at, t.created_at)) * 1000)::bigint) as handed
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
  select json_agg(o.handed) into v_claimed.tasks
  from (
    select taken.handed from taken join unnest(v_ids) with ordinality o(id, ord) on o.id = taken.id order by o.ord) o;
  if p_start = 'deliver' then perform write_start_deliveries(v_ids, v_lease, v_now); end if;
  return v_claimed;
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

-- Locks picked tasks. A task locked by another transaction keeps its ready row and is found again. p_compared: whether they
-- are compared, which only pays if rules count their kinds.
create or replace function lock_picked(p_ids uuid[], p_compared boolean)
returns locked language plpgsql as $$
declare
  v_locked locked;
begin
  if not p_compared then
    select array_agg(t.id), array_agg(distinct t.kind_id) filter (where t.state + 0 = :pending),
      bool_or(t.rule_slots is not null), max(t.run_at) filter (where t.state + 0 = :pending)
    into v_locked.ids, v_locked.kinds, v_locked.ruled, v_locked.latest
    from (
      select t.id, t.kind_id, t.state, t.rule_slots, t.run_at from task t
      where t.id = any(p_ids) order by t.id for no key update skip locked) t;
    return v_locked;
  end if;
  select array_agg(t.id), array_agg(distinct t.kind_id) filter (where t.state + 0 = :pending),
    bool_or(t.rule_slots is not null), max(t.run_at) filter (where t.state + 0 = :pending),
    min(t.wants), min(t.rule_slots), min(t.rule_max),
    case when min(t.kind_id) = max(t.kind_id) and min(t.state) = :pending and max(t.state) = :pending
      and count(t.wants) in (0, count(*)) and min(t.wants) is not distinct from max(t.wants)
      and count(t.rule_slots) in (0, count(*)) and min(t.rule_slots) is not distinct from max(t.rule_slots)
      and min(t.rule_max) is not distinct from max(t.rule_max) and min(t.slot_version) = max(t.slot_version)
      then min(t.slot_version) end
  into v_locked.ids, v_locked.kinds, v_locked.ruled, v_locked.latest, v_locked.wants, v_locked.rule_slots,
    v_locked.rule_max, v_locked.slot_version
  from (
    select t.id, t.kind_id, t.state, t.run_at, t.wants, t.rule_slots, t.rule_max, t.slot_version from task t
    where t.id = any(p_ids) order by t.id for no key update skip locked) t;
  return v_locked;
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
create or replace function admit_picked(p_picked picked, p_locked locked, p_now timestamptz, out ids uuid[], out refused integer)
language plpgsql as $$
declare
  v_lanes integer[];
  v_grants text[];
  v_demand slot_demand;
  v_asked integer;
begin
  refused := 0;
  if cardinality(array_remove(p_picked.grants, null)) > 0 then
    perform return_stale_grants(p_picked.ids, p_picked.grants, p_now);
  elsif p_locked.slot_version is not null and (p_locked.latest is null or p_locked.latest <= p_now) then
    v_demand := demand_of_alike(p_locked);
  end if;
  if v_demand.slots is not null then
    ids := p_picked.ids;
    v_lanes := p_picked.lanes;
  else
    select array_agg(u.id order by u.ord), array_agg(u.lane order by u.ord), array_agg(u.grants order by u.ord)
    into ids, v_lanes, v_grants
    from unnest(p_picked.ids, p_picked.lanes, p_picked.grants) with ordinality u(id, lane, grants, ord)
    join task t on t.id = u.id where t.state + 0 = :pending and (t.run_at is null or t.run_at <= p_now);
    if ids is null then return; end if;
  end if;
  v_asked := cardinality(ids);
  ids := admit(ids, v_lanes, v_grants, v_demand);
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
