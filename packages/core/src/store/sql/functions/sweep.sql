-- Periodic work: tasks that are due, leases that are due, attempts to recover after a restore.
-- Locks: workflows by id, tasks by id (skipping locked ones), leases by id, slots by id.
-- Callers: store/transitions.ts, store/recovery.ts.

-- Moves pending tasks that are due to their lanes.
create or replace function promote_delayed(p_limit integer, p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[];
  v_lanes integer[];
begin
  with due as (
    select d.ctid as tid from delayed d where d.run_at <= v_now order by d.run_at limit p_limit for update skip locked
  ), gone as (
    delete from delayed where ctid = any(array(select tid from due)) returning task_id
  )
  select array_agg(task_id) into v_ids from gone;
  if v_ids is null then return json_build_object('promoted', 0, 'lanes', '[]'::json); end if;
  v_lanes := make_ready(array(select t.id from task t where t.id = any(v_ids) and (t.state + 0) = :pending), v_now);
  return json_build_object('promoted', cardinality(v_ids), 'lanes', v_lanes);
end $$;

-- Checks leases that are due: ends overdue tasks, requeues attempts whose workers are lost and claims that were never
-- delivered, frees canceled attempts without a report, and sets the next check. Safe to run concurrently with reports:
-- every step repeats its condition.
create or replace function sweep_leases(p_limit integer, p_claim_timeout_ms integer, p_jitter double precision,
  p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_leases bigint[];
  v_lapsing boolean;
  v_tasks uuid[];
  v_ids uuid[];
  v_attempts integer[];
  v_reasons text[];
  v_held uuid[];
  v_stuck uuid[];
  v_traced json;
  v_undelivered json;
  v_settled json;
  v_lost json;
  v_requeued json;
  v_waiting boolean;
  v_queued json;
  v_lanes integer[] := '{}';
begin
  select array_agg(l.id), bool_or(l.lease_ms is not null), bool_or(l.queued_kind is not null)
  into v_leases, v_lapsing, v_waiting from (
    select id, lease_ms, queued_kind from lease where check_at <= v_now order by check_at limit p_limit) l;
  if v_leases is null then return null; end if;
  v_tasks := array(select distinct u from lease l, unnest(l.task_ids) u where l.id = any(v_leases));

  select array_agg(t.id), array_agg(t.attempt), array_agg(case t.deadline_basis
      when 1 then 'no activity for ' || t.timeout_secs || ' s (its timeout)'
      else 'it ran for longer than ' || t.timeout_secs || ' s (its timeout)' end)
  into v_ids, v_attempts, v_reasons
  from task t where t.id = any(v_tasks) and t.lease_id = any(v_leases) and t.state + 0 in (:running, :expanding)
    and t.deadline_at <= v_now;
  if v_ids is not null then
    v_traced := (select json_agg(a) from traced_attempts(v_ids, v_now) a);
    v_settled := settle(reports_of(v_ids, v_attempts, :timed_out, v_reasons), true, p_jitter, v_now);
  end if;
  if v_lapsing then v_lost := take_back_lost(v_tasks, v_leases, p_jitter, v_now); end if;
  if v_waiting then v_queued := sweep_queued(v_tasks, v_leases, p_jitter, v_now); end if;

  -- The next heartbeat of a lease's holder reports the cancellation; after it no worker runs the task.
  v_held := array(select t.id from task t join lease l on l.id = t.lease_id
    where t.id = any(v_tasks) and t.lease_id = any(v_leases) and t.state >= :terminal
      and (t.deadline_at <= v_now or t.updated_at + l.lease_ms * interval '1 millisecond' <= v_now)
    order by t.id for no key update of t skip locked);
  if cardinality(v_held) > 0 then
    v_lanes := v_lanes || release_canceled(v_held, array_fill(:result_conflict::smallint, array[cardinality(v_held)]));
  end if;

  v_stuck := array(select t.id from task t join lease l on l.id = t.lease_id
    where t.id = any(v_tasks) and t.lease_id = any(v_leases) and l.queued_kind is null and t.state + 0 = :claimed
      and t.updated_at + p_claim_timeout_ms * interval '1 millisecond' <= v_now
      and not exists (select 1 from delivery d
        where d.task_id = t.id and d.attempt = t.attempt and d.trigger = 'start' and d.state = 'due')
    order by t.id for no key update of t skip locked);
  if cardinality(v_stuck) > 0 then
    v_undelivered := (select json_agg(a) from traced_attempts(v_stuck, v_now) a);
    v_requeued := give_back(v_stuck, :attempt_undelivered, 'its start was not delivered in time', v_now);
  end if;

  perform 1 from lease where id = any(v_leases) order by id for update;
  delete from lease l where l.id = any(v_leases)
    and not exists (select 1 from task t where t.id = any(l.task_ids) and t.lease_id = l.id);
  update lease l set check_at = greatest(v_now + interval '10 milliseconds', coalesce(
    (select min(case
        when l.queued_kind is not null and (t.state = :claimed or t.paused_from = :claimed) then v_now + interval '1 minute'
        when t.state = :paused then v_now + coalesce(l.lease_ms * interval '1 millisecond', interval '1 hour')
        when t.state = :claimed then least(v_now + p_claim_timeout_ms * interval '1 millisecond',
          v_now + t.timeout_secs * interval '1 second')
        when t.state = :expanding then t.deadline_at
        else least(t.deadline_at, t.updated_at + l.lease_ms * interval '1 millisecond') end)
     from task t where t.id = any(l.task_ids) and t.lease_id = l.id), v_now + interval '1 hour'))
  where l.id = any(v_leases);
  return json_build_object('looked_at', cardinality(v_leases), 'settled', v_settled, 'lost', v_lost,
    'queued', v_queued, 'requeued', v_requeued, 'lanes', v_lanes, 'overdue', traced_ends(v_traced, v_ids, v_settled),
    'undelivered', v_undelivered);
end $$;

-- Requeues running attempts of these leases whose workers sent no heartbeat for as long as the lease lasts: they are
-- claimed again as the next attempt, and reports of the old one are rejected. The retry policy does not apply, since it
-- covers failed work, and this work is not known to have failed; but the attempt counts if the work fails later. A task
-- that crashes its workers must not do so forever: nine lost attempts beyond its policy fail it. An attempt that waits
-- for its children has no worker to lose. While the manager is behind with its queue, heartbeats from queue workers
-- wait there, and their attempts do not count as lost. Returns {failed: what settle returns, requeued: what give_back
-- returns, attempts: those with a trace}, or null.
create or replace function take_back_lost(p_tasks uuid[], p_leases bigint[], p_jitter double precision,
  p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_ids uuid[];
  v_worn uuid[];
  v_attempts integer[];
  v_reasons text[];
  v_traced json;
  v_settled json;
  v_behind boolean := exists (
    select 1 from queue_message m where m.queue collate "POSIX" = 'manager' and m.visible_at <= p_now - interval '5 seconds');
begin
  select array_agg(o.id), array_agg(o.id) filter (where o.worn) into v_ids, v_worn from (
    select t.id, is_worn(t.id, t.attempt) as worn
    from task t join lease l on l.id = t.lease_id
    where t.id = any(p_tasks) and t.lease_id = any(p_leases) and t.state + 0 = :running
      and t.updated_at + l.lease_ms * interval '1 millisecond' <= p_now
      and not (v_behind and exists (select 1 from kind k where k.id = t.kind_id and k.dispatched))) o;
  if v_ids is null then return null; end if;
  -- Tasks that fail below need their workflow, and workflows are locked before tasks.
  if v_worn is not null then perform lock_workflows(v_worn); end if;
  select array_agg(o.id), array_agg(o.id) filter (where o.worn), array_agg(o.attempt) filter (where o.worn),
    array_agg('its worker was lost: no heartbeat of attempt ' || o.attempt || ' for ' || o.lease_ms / 1000.0
      || ' s, and it is not tried again') filter (where o.worn)
  into v_ids, v_worn, v_attempts, v_reasons
  from (
    select t.id, t.attempt, l.lease_ms, is_worn(t.id, t.attempt) as worn
    from task t join lease l on l.id = t.lease_id
    where t.id = any(v_ids) and t.lease_id = any(p_leases) and t.state + 0 = :running
      and t.updated_at + l.lease_ms * interval '1 millisecond' <= p_now
    order by t.id for no key update of t skip locked) o;
  if v_ids is null then return null; end if;
  v_traced := (select json_agg(a) from traced_attempts(v_ids, p_now) a);
  if v_worn is not null then
    v_settled := settle(reports_of(v_worn, v_attempts, :failed, v_reasons), false, p_jitter, p_now);
    v_ids := array(select i.id from unnest(v_ids) i(id) where i.id <> all(v_worn));
  end if;
  return json_build_object('failed', v_settled, 'requeued', give_back(v_ids, :attempt_lost, 'its worker sent no heartbeat', p_now),
    'attempts', v_traced);
end $$;

-- Whether a task whose worker was lost at this attempt has lost too many of them.
create or replace function is_worn(p_task uuid, p_attempt integer)
returns boolean language sql stable as $$
  select p_attempt >= 10 and p_attempt >= 9 + coalesce(
    (select (sp.retry ->> 'max_attempts')::integer from task_spec sp where sp.task_id = p_task), 1)
$$;

-- Ends the attempts of tasks (claimed or running, locked by the caller) with this outcome, and requeues the tasks. A
-- paused one stays paused. p_outcome null: the attempts never began, nothing is kept of them. Returns {count,
-- transitions, lanes, workflows}.
create or replace function give_back(p_ids uuid[], p_outcome integer, p_reason text, p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_leases bigint[];
  v_slots bigint[];
  v_amounts bigint[];
  v_transitions json;
  v_workflows json;
  v_lanes integer[];
begin
  select array_agg(t.lease_id),
    (select json_agg(json_build_object('kind', g.kind_id, 'from', g.state, 'to', g.target, 'count', g.n)) from (
      select m.kind_id, m.state, case when m.open_gates > 0 then :waiting else :pending end as target, count(*) as n
      from task m where m.id = any(p_ids) and m.state <> :paused group by 1, 2, 3) g),
    (select json_agg(w.workflow_id) from (select distinct x.workflow_id from task x where x.id = any(p_ids) limit 17) w)
  into v_leases, v_transitions, v_workflows from task t where t.id = any(p_ids);
  select h.slots, h.amounts into v_slots, v_amounts from held_slots(p_ids) h;
  if p_outcome is not null then
    perform keep_attempts(p_ids, array_fill(p_outcome::smallint, array[cardinality(p_ids)]),
      array_fill(p_reason, array[cardinality(p_ids)]), p_now);
  end if;
  update task t set
    state = case when t.state = :paused then :paused when t.open_gates > 0 then :waiting else :pending end,
    paused_from = case when t.state = :paused then case when t.open_gates > 0 then :waiting else :pending end end,
    lease_id = null, slots = null, started_at = null, deadline_at = null, run_at = p_now, updated_at = p_now
  where t.id = any(p_ids) and (t.state + 0) in (:claimed, :running, :paused);
  perform close_leases(v_leases);
  v_lanes := return_slots(v_slots, v_amounts);
  return json_build_object('count', cardinality(p_ids), 'transitions', v_transitions, 'workflows', v_workflows,
    'lanes', v_lanes || make_ready(array(select t.id from task t where t.id = any(p_ids) and (t.state + 0) = :pending),
      p_now));
end $$;

-- Requeues attempts that were opened before a time, since in a restored database their outcome is unknown. Those whose
-- start is still to be delivered need nothing. Returns their number, at most p_limit; repeat until it is 0.
create or replace function recover_attempts(p_before timestamptz, p_limit integer)
returns integer language plpgsql as $$
declare
  v_ids uuid[];
begin
  v_ids := array(select t.id from lease l cross join unnest(l.task_ids) u(id) join task t on t.id = u.id
    where l.claimed_at < p_before and t.lease_id = l.id and (t.state + 0) in (:claimed, :running, :paused)
      and not exists (select 1 from delivery d
        where d.task_id = t.id and d.attempt = t.attempt and d.trigger = 'start' and d.state = 'due')
    order by t.id limit p_limit for no key update of t skip locked);
  if cardinality(v_ids) = 0 then return 0; end if;
  perform give_back(v_ids, :attempt_lost, 'the database was restored, so its outcome is unknown', clock_timestamp());
  return cardinality(v_ids);
end $$;

-- The sweep finds a lease by a lower bound of its deadlines; if these tasks' deadlines come sooner, so does the check.
create or replace function check_leases_sooner(p_tasks uuid[])
returns void language plpgsql as $$
declare
  v_leases bigint[];
begin
  v_leases := array(select distinct t.lease_id from task t where t.id = any(p_tasks) and t.lease_id is not null);
  if cardinality(v_leases) = 0 then return; end if;
  perform 1 from lease where id = any(v_leases) order by id for update;
  update lease l set check_at = m.check_at
  from (select t.lease_id, min(t.deadline_at) as check_at from task t
        where t.id = any(p_tasks) and t.lease_id = any(v_leases) group by t.lease_id) m
  where l.id = m.lease_id and l.check_at > m.check_at;
end $$;
