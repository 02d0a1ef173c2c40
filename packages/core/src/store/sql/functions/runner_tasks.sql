-- Tasks that need runners: their demand, and their recovery when runners are lost. Uses the settings of claim.sql
-- for the same reason.

-- Whether there is work for tasks that need runners: a single check, since most passes find nothing.
create or replace function has_runner_tasks(p_now timestamptz)
returns boolean language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off as $$
begin
  return exists (select 1 from ready where lane < :lane_webhook)
    or exists (select 1 from blocked where lane < :lane_webhook)
    or exists (select 1 from runner where request_id is not null)
    or exists (
      select 1 from runner_request q
      where q.state = :request_ended and q.task_id is not null and q.reason is not null
        and q.ended_at > coalesce(p_now, clock_timestamp()) - interval '10 minutes');
end $$;

-- Returns the demands of ready tasks without a request, most urgent first, and sets these tasks aside. Ready rows of
-- tasks that are not pending are deleted. Tasks that a concurrency rule would stop move to the lane of its slot and
-- request runners when they get the slot. Returns {seen: rows read, demands: [{task_id, attempt, requirements,
-- tenant}]}, or null if there are none.
create or replace function demand_of_tasks(p_limit integer, p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz;
  v_seen integer;
  v_ids uuid[];
  v_tids tid[];
  v_grants text[];
  v_ruled uuid[];
  v_asked uuid[];
  v_gone uuid[];
begin
  select array_agg(c.task_id), array_agg(c.tid), array_agg(c.slots::text) into v_ids, v_tids, v_grants
  from (
    select y.task_id, y.ctid as tid, y.slots from ready y
    where y.lane = :lane_runners and not exists (
      select 1 from runner_request q where q.task_id = y.task_id and q.state < :request_ended
        and q.state = :request_granted)
    order by y.rank, y.task_id limit p_limit for update of y skip locked) c;
  if v_ids is null then return null; end if;
  v_seen := cardinality(v_ids);
  -- Read only now, as in claim(): a task may have become ready after this function started.
  v_now := coalesce(p_now, clock_timestamp());

  -- A task that lost its runner waits with its existing request.
  v_asked := array(select q.id from runner_request q where q.task_id = any(v_ids) and q.state < :request_ended
    and q.state = :request_waiting);
  if cardinality(v_asked) > 0 then
    perform runner_set_aside(v_asked);
    select array_agg(u.id order by u.ord), array_agg(u.tid order by u.ord), array_agg(u.granted order by u.ord)
    into v_ids, v_tids, v_grants
    from unnest(v_ids, v_tids, v_grants) with ordinality u(id, tid, granted, ord)
    where not exists (select 1 from runner_request q where q.id = any(v_asked) and q.task_id = u.id);
    if v_ids is null then return json_build_object('seen', v_seen, 'demands', '[]'::json); end if;
  end if;

  -- A task locked by another transaction keeps its ready row for the next pass.
  v_gone := array(
      select t.id from task t
      where t.id = any(v_ids) and not (t.state + 0 = :pending and (t.run_at is null or t.run_at <= v_now))
      order by t.id for no key update skip locked)
    || array(select u.id from unnest(v_ids) u(id) where not exists (select 1 from task t where t.id = u.id));
  if cardinality(v_gone) > 0 then
    -- The clock was set back: these become ready again later.
    insert into delayed (run_at, task_id)
    select t.run_at, t.id from task t where t.id = any(v_gone) and (t.state + 0) = :pending and t.run_at > v_now
    on conflict do nothing;
    delete from ready where ctid = any(array(select u.tid from unnest(v_ids, v_tids) u(id, tid) where u.id = any(v_gone)));
    perform return_stale_grants(v_gone, array(
      select u.granted from unnest(v_gone) with ordinality g(id, ord) join unnest(v_ids, v_grants) u(id, granted) on u.id = g.id
      order by g.ord), v_now);
  end if;
  v_ruled := array(
    select t.id from unnest(v_ids, v_grants) u(id, granted) join task t on t.id = u.id join kind k on k.id = t.kind_id
    where u.granted is null and t.state + 0 = :pending and t.rule_slots is not null and t.slot_version = k.slot_version
    order by t.id for no key update of t skip locked);
  if cardinality(v_ruled) > 0 then
    v_ruled := hold_back(array(
      select u.id from unnest(v_ids) with ordinality u(id, ord) where u.id = any(v_ruled) order by u.ord));
    delete from ready where ctid = any(array(select u.tid from unnest(v_ids, v_tids) u(id, tid) where u.id = any(v_ruled)));
    v_gone := v_gone || v_ruled;
  end if;
  return json_build_object('seen', v_seen, 'demands', (
    select coalesce(json_agg(json_build_object('task_id', t.id, 'attempt', t.attempt + 1, 'requirements', sp.requirements,
      'tenant', coalesce(nullif(left(t.metadata ->> 'tenant', 200), ''), w.name, 'default')) order by u.ord), '[]')
    from unnest(v_ids) with ordinality u(id, ord) join task t on t.id = u.id join task_spec sp on sp.task_id = t.id
    join workflow w on w.id = t.workflow_id
    where u.id <> all(v_gone) and t.state + 0 = :pending));
end $$;

-- Returns those of these pending tasks (locked by the caller, in queue order) that a concurrency rule would stop if all
-- tasks with requests had started: they wait for the slot, and no runners are launched for them.
create or replace function hold_back(p_ids uuid[])
returns uuid[] language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_slots bigint[] := array(select distinct r.slot from task t, unnest(t.rule_slots) r(slot) where t.id = any(p_ids));
  v_used bigint[];
  v_held uuid[];
  v_stops bigint[];
begin
  perform lock_slots(v_slots, p_ids);
  select array_agg(s.id), array_agg(s.used + coalesce(a.amount, 0)) into v_slots, v_used
  from slot s left join (
    select w.slot, sum(slot_amount(w.slot, t.expected_count, t.success_count, t.failure_count)) as amount
    from runner_request q join task t on t.id = q.task_id and t.state + 0 = :pending, unnest(t.wants) w(slot)
    where q.task_id is not null and q.state < :request_ended and w.slot = any(v_slots) group by w.slot) a on a.slot = s.id
  where s.id = any(v_slots);
  select r.o_ids, r.o_slots into v_held, v_stops from refused_by_slots(p_ids, v_slots, v_used) r;
  -- A task that waits for its runner does not reserve a slot, so it is never handed one.
  insert into blocked (slot_id, rank, task_id, lane, max, sole)
  select h.slot, -t.priority, t.id, -1, t.rule_max[array_position(t.rule_slots, h.slot)], false
  from unnest(v_held, v_stops) h(id, slot) join task t on t.id = h.id
  on conflict do nothing;
  return v_held;
end $$;

-- Open attempts whose runners are gone or interrupted; tasks of interrupted runners do not use spot runners again.
-- `worn`: no attempts are left. Runners that ended more than ten minutes ago are left to the expiry of leases.
create or replace function attempts_without_runner(p_limit integer, p_now timestamptz)
returns table (task_id uuid, attempt integer, reason text, worn boolean) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_tasks uuid[];
  v_attempts integer[];
  v_reasons text[];
begin
  select array_agg(g.task_id), array_agg(g.attempt), array_agg(g.reason) into v_tasks, v_attempts, v_reasons from (
    select q.task_id, q.attempt, 'interrupted' as reason
    from runner r join runner_request q on q.id = r.request_id
    where r.request_id is not null and r.draining and r.reason like 'interrupted%' and q.state = :request_granted
      and q.task_id is not null
    union
    (select q.task_id, q.attempt, q.reason from runner_request q
     where q.state = :request_ended and q.task_id is not null and q.reason is not null
       and q.ended_at > v_now - interval '10 minutes'
     order by q.ended_at desc limit p_limit)) g;
  if v_tasks is null then return; end if;
  update task_spec sp set requirements = sp.requirements || '{"on_demand": true}'
  from (select distinct u.id from unnest(v_tasks, v_reasons) u(id, reason) where u.reason like 'interrupted%') i
  where sp.task_id = i.id and sp.requirements is not null and not sp.requirements ? 'on_demand';
  return query
    select t.id, t.attempt, min(u.reason), bool_and(u.reason not like 'interrupted%' and is_worn(t.id, t.attempt))
    from unnest(v_tasks, v_attempts, v_reasons) u(id, attempt, reason)
    join task t on t.id = u.id and t.attempt = u.attempt
    where t.needs_runner and t.lease_id is not null
      and (t.state + 0 in (:claimed, :running) or (t.state = :paused and t.paused_from in (:claimed, :running))
        or t.state >= :terminal)
    group by t.id, t.attempt limit p_limit;
end $$;

-- Requeues ready rows in the lane of a runner that is not claimed for their task. The functions that end a claim
-- already do this; this is the safety net.
create or replace function recover_orphans(p_limit integer)
returns integer language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_tids tid[];
  v_slots bigint[];
  v_count integer;
begin
  v_tids := array(
    select y.ctid from ready y
    where y.lane < :lane_runners and y.lane > asked_lane() and not exists (
      select 1 from runner r join runner_request q on q.id = r.request_id
      where r.number = -y.lane and r.state in (:runner_claimed, :runner_running) and q.task_id = y.task_id)
    limit p_limit for update of y skip locked);
  with gone as (
    delete from ready where ctid = any(v_tids) returning rank, task_id, slots
  )
  insert into ready (lane, rank, task_id, slots) select :lane_runners, g.rank, g.task_id, g.slots from gone g
  on conflict (lane, rank, task_id) do update set slots = coalesce(ready.slots, excluded.slots);
  get diagnostics v_count = row_count;

  v_slots := array(
    select distinct b.slot_id from blocked b
    where b.lane < :lane_runners and b.lane < :lane_webhook and not exists (
      select 1 from runner r join runner_request q on q.id = r.request_id
      where r.number = -b.lane and r.state in (:runner_claimed, :runner_running) and q.task_id = b.task_id));
  if cardinality(v_slots) = 0 then return v_count; end if;
  perform 1 from slot where id = any(v_slots) order by id for no key update;
  update blocked b set lane = :lane_runners
  where b.slot_id = any(v_slots) and b.lane < :lane_runners and not exists (
    select 1 from runner r join runner_request q on q.id = r.request_id
    where r.number = -b.lane and r.state in (:runner_claimed, :runner_running) and q.task_id = b.task_id);
  return v_count;
end $$;
