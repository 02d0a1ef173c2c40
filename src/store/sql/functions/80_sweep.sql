-- Pending tasks whose moment has come go to their lanes.
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
  v_lanes := make_ready(array(select t.id from task t where t.id = any(v_ids) and (t.state + 0) = 1), v_now);
  return json_build_object('promoted', cardinality(v_ids), 'lanes', v_lanes);
end $$;

-- Looks at leases whose moment has come: ends what is overdue, requeues claims that nobody delivers, frees canceled
-- attempts that never reported, and sets the next moment. Safe beside reports: every step repeats its condition.
create or replace function sweep_leases(p_limit integer, p_claim_timeout_ms integer, p_jitter double precision,
  p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_leases bigint[];
  v_tasks uuid[];
  v_ids uuid[];
  v_attempts integer[];
  v_reasons text[];
  v_held uuid[];
  v_settled json;
  v_requeued uuid[] := '{}';
  v_lanes integer[] := '{}';
begin
  select array_agg(l.id) into v_leases from (
    select id from lease where check_at <= v_now order by check_at limit p_limit) l;
  if v_leases is null then return null; end if;
  v_tasks := array(select distinct u from lease l, unnest(l.task_ids) u where l.id = any(v_leases));

  select array_agg(t.id), array_agg(t.attempt), array_agg(case t.deadline_basis
      when 1 then 'no activity for ' || t.timeout_secs || ' s (its timeout)'
      else 'it ran for longer than ' || t.timeout_secs || ' s (its timeout)' end)
  into v_ids, v_attempts, v_reasons
  from task t where t.id = any(v_tasks) and t.lease_id = any(v_leases) and t.state + 0 in (3, 4) and t.deadline_at <= v_now;
  if v_ids is not null then
    v_settled := settle(v_ids, v_attempts, array_fill(12::smallint, array[cardinality(v_ids)]), v_reasons, null, true,
      null, p_jitter, v_now);
  end if;

  v_held := array(select t.id from task t
    where t.id = any(v_tasks) and t.lease_id = any(v_leases) and t.state >= 10 and t.deadline_at <= v_now);
  if cardinality(v_held) > 0 then
    v_lanes := v_lanes || release_canceled(v_held, array_fill(3::smallint, array[cardinality(v_held)]));
  end if;

  v_requeued := requeue_claims(array(
    select t.id from task t
    where t.id = any(v_tasks) and t.lease_id = any(v_leases) and t.state + 0 = 2
      and t.updated_at + p_claim_timeout_ms * interval '1 millisecond' <= v_now
      and not exists (select 1 from delivery d
        where d.task_id = t.id and d.attempt = t.attempt and d.trigger = 'start' and d.state = 'due')), v_now);
  if cardinality(v_requeued) > 0 then
    v_lanes := v_lanes || make_ready(v_requeued, v_now);
  end if;

  perform 1 from lease where id = any(v_leases) order by id for update;
  delete from lease l where l.id = any(v_leases)
    and not exists (select 1 from task t where t.id = any(l.task_ids) and t.lease_id = l.id);
  update lease l set check_at = greatest(v_now + interval '10 milliseconds', coalesce(
    (select min(case
        when t.state = 5 then v_now + interval '1 hour'
        when t.state = 2 then least(v_now + p_claim_timeout_ms * interval '1 millisecond',
          v_now + t.timeout_secs * interval '1 second')
        else t.deadline_at end)
     from task t where t.id = any(l.task_ids) and t.lease_id = l.id), v_now + interval '1 hour'))
  where l.id = any(v_leases);
  return json_build_object('looked_at', cardinality(v_leases), 'settled', v_settled,
    'requeued', cardinality(v_requeued), 'lanes', v_lanes);
end $$;

-- The sweeper looks at a lease by a lower bound of its deadlines; where these tasks' deadlines come sooner, so does the look.
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

-- Claims that expired before a start: back to pending (or waiting, where a parent was re-opened meanwhile).
create or replace function requeue_claims(p_ids uuid[], p_now timestamptz)
returns uuid[] language plpgsql as $$
declare
  v_ids uuid[];
  v_leases bigint[];
  v_slots bigint[];
  v_amounts bigint[];
begin
  select array_agg(t.id), array_agg(t.lease_id) into v_ids, v_leases from (
    select id, lease_id from task where id = any(p_ids) and (state + 0) = 2 order by id for no key update skip locked) t;
  if v_ids is null then return '{}'; end if;
  select array_agg(h.slot), array_agg(slot_amount(h.slot, t.expected_count, t.success_count, t.failure_count))
  into v_slots, v_amounts from task t, unnest(t.slots) h(slot) where t.id = any(v_ids);
  update task set state = case when open_gates > 0 then 0 else 1 end, lease_id = null, slots = null, deadline_at = null,
    run_at = p_now, updated_at = p_now
  where id = any(v_ids) and (state + 0) = 2;
  perform close_leases(v_leases);
  perform return_slots(v_slots, v_amounts);
  return array(select id from task where id = any(v_ids) and (state + 0) = 1);
end $$;

-- Carries the ends of parents to children in other workflows, one parent a transaction; returns null when none is left.
create or replace function relay_one(p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_parent uuid;
  v_children uuid[];
  v_failed uuid[];
  v_opened uuid[];
  v_cascaded uuid[];
  v_deliveries integer := 0;
  v_lanes integer[] := '{}';
begin
  select r.parent_id into v_parent from relay r order by r.created_at limit 1 for update skip locked;
  if not found then return null; end if;
  v_children := array(select e.child_id from edge e where e.parent_id = v_parent and e.crosses and not e.relayed);
  perform 1 from workflow w where w.id in (select t.workflow_id from task t where t.id = any(v_children))
  order by w.id for no key update;
  perform 1 from task t where t.id = any(v_children) order by t.id for no key update;
  with told as (
    update edge e set relayed = true where e.parent_id = v_parent and e.crosses and not e.relayed
    returning e.child_id, e.requires_success
  ), moved as (
    update task t set
      open_gates = t.open_gates - 1,
      state = case when x.fails then 11 when t.state = 0 and t.open_gates = 1 then 1 else t.state end,
      run_at = case when not x.fails and t.state = 0 and t.open_gates = 1 then greatest(t.run_at, v_now) else t.run_at end,
      ended_at = case when x.fails then v_now else t.ended_at end,
      paused_at = case when x.fails then null else t.paused_at end,
      paused_from = case when x.fails then null else t.paused_from end,
      cause = case when x.fails then coalesce(x.cause, x.parent_id) else t.cause end,
      reason = case
        when x.fails and x.cause is not null then x.reason
        when x.fails then 'the task it depends on, "' || left(x.name, 200) || '" (' || x.parent_id || '), '
        || case x.state when 14 then 'was canceled' when 12 then 'timed out' else 'failed' end else t.reason end,
      updated_at = v_now
    from (
      select c.id, p.cause, p.id as parent_id, p.name, p.state, p.reason,
        told.requires_success and p.state not in (10, 15)
          and (c.state = 0 or (c.state = 5 and c.paused_from in (0, 1))) as fails
      from told join task c on c.id = told.child_id
      join (select id, cause, name, state, reason from task where id = v_parent
            union all select id, cause, name, state, reason from archive_task where id = v_parent) p on true) x
    where t.id = x.id
    returning t.id, x.fails, t.state
  )
  select array_agg(id) filter (where fails), array_agg(id) filter (where not fails and state = 1)
  into v_failed, v_opened from moved;
  delete from relay where parent_id = v_parent;
  if v_opened is not null then v_lanes := make_ready(v_opened, v_now); end if;
  if v_failed is not null then
    select c.lanes || v_lanes, c.deliveries, c.cascaded into v_lanes, v_deliveries, v_cascaded
    from conclude(v_failed, array(select t.workflow_id from task t where t.id = any(v_failed)), true, false, true,
      null, null, null, v_now) c;
  end if;
  return json_build_object('lanes', v_lanes, 'deliveries', v_deliveries, 'cascaded', kinds_of(v_failed || v_cascaded),
    'unblocked', coalesce(cardinality(v_opened), 0));
end $$;
