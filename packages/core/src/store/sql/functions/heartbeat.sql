-- Records heartbeats of attempts.
-- Locks: tasks by id, then leases by id, then slots by id.
-- Callers: store/claims.ts.

-- Applies heartbeats of attempts, with the work done since the last one (distinct ids). The first one starts a claimed
-- attempt. A running attempt's lease counts from the task's updated_at, so that no lease row is updated and every
-- attempt expires by itself, whatever else shares its lease. Attempts that waited in a queue move to a lease of
-- p_lease_ms, since from here on their worker may be lost. The clock of a paused attempt stands still. Returns {codes:
-- 0 applied, 1 ended, 2 not found, 3 stale attempt for each, in order; begun: [{kind, waits_ms}]; lanes;
-- workflows}.
create or replace function heartbeat(p_ids uuid[], p_attempts integer[], p_success bigint[], p_failure bigint[],
  p_lease_ms integer, p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_codes smallint[];
  v_accepted uuid[];
  v_success bigint[];
  v_failure bigint[];
  v_holders uuid[];
  v_slots bigint[];
  v_amounts bigint[];
  v_started uuid[];
  v_leases bigint[];
  v_dequeued uuid[];
  v_lease bigint;
  v_begun json;
  v_workflows json;
  v_lanes integer[] := '{}';
begin
  with locked as (
    select t.id, t.state, t.paused_from, t.attempt, t.slots, t.workflow_id, t.kind_id, t.lease_id,
      coalesce(t.run_at, t.created_at) as since
    from task t where t.id = any(p_ids) order by t.id for no key update
  ), decided as (
    select r.ord, r.s, r.f, l.*,
      coalesce(l.state = :claimed or (l.state = :paused and l.paused_from = :claimed), false) as starts,
      case
        when l.id is null then :progress_not_found
        when r.attempt <> l.attempt then :progress_stale_attempt
        when l.state >= :terminal then :progress_ended
        -- The attempt was lost, or failed and is retried: its id is not the next attempt's.
        when l.state in (:waiting, :pending) or (l.state = :paused and l.paused_from in (:waiting, :pending))
          then :progress_stale_attempt
        else :progress_applied
      end::smallint as code
    from unnest(p_ids, p_attempts, p_success, p_failure) with ordinality r(id, attempt, s, f, ord)
    left join locked l on l.id = r.id
  ), accepted as (
    select * from decided where code = :progress_applied
  )
  select (select array_agg(d.code order by d.ord) from decided d),
    array_agg(a.id), array_agg(a.s), array_agg(a.f),
    array_agg(a.id) filter (where a.s + a.f > 0 and exists (select 1 from unnest(a.slots) s where s & 1 = 1)),
    array_agg(a.id) filter (where a.starts), array_agg(a.lease_id) filter (where a.starts),
    (select json_agg(json_build_object('kind', g.kind_id, 'waits_ms', g.waits)) from (
      select b.kind_id, json_agg((extract(epoch from v_now - b.since) * 1000)::bigint) as waits
      from accepted b where b.starts group by b.kind_id) g),
    (select json_agg(w.workflow_id) from (select distinct x.workflow_id from accepted x limit 17) w)
  into v_codes, v_accepted, v_success, v_failure, v_holders, v_started, v_leases, v_begun, v_workflows
  from accepted a;
  if v_accepted is null then return json_build_object('codes', v_codes, 'lanes', v_lanes); end if;

  if v_holders is not null then
    select f.slots, f.amounts into v_slots, v_amounts
    from freed_by_progress(v_holders, v_accepted, v_success, v_failure) f;
  end if;
  if v_started is not null then
    select l.o_ids, l.o_lease into v_dequeued, v_lease from leave_queues(v_started, v_leases, p_lease_ms, v_now) l;
  end if;

  update task t set
    success_count = t.success_count + u.s, failure_count = t.failure_count + u.f, updated_at = v_now,
    state = case when t.state = :claimed then :running else t.state end,
    paused_from = case when t.state = :paused and t.paused_from = :claimed then :running else t.paused_from end,
    started_at = coalesce(t.started_at, v_now),
    lease_id = case when t.id = any(v_dequeued) then v_lease else t.lease_id end,
    deadline_at = case when t.deadline_at is null or t.deadline_basis = :timeout_since_activity
      then coalesce(t.paused_at, v_now) + t.timeout_secs * interval '1 second' else t.deadline_at end
  from unnest(v_accepted, v_success, v_failure) u(id, s, f)
  where t.id = u.id and (t.state + 0) in (:claimed, :running, :expanding, :paused);

  -- Attempts started in another way get a deadline only now, which may come before the next check of their lease.
  if cardinality(v_started) > coalesce(cardinality(v_dequeued), 0) then
    perform check_leases_sooner(v_started);
  end if;
  if v_slots is not null then v_lanes := return_slots(v_slots, v_amounts); end if;
  return json_build_object('codes', v_codes, 'begun', v_begun, 'lanes', v_lanes, 'workflows', v_workflows);
end $$;

-- Moves those of the tasks that waited in a queue from their leases to a new one; returns both.
create or replace function leave_queues(p_tasks uuid[], p_leases bigint[], p_lease_ms integer, p_now timestamptz,
  out o_ids uuid[], out o_lease bigint)
language plpgsql as $$
declare
  v_left bigint[];
begin
  select array_agg(s.id), array_agg(s.lease_id) into o_ids, v_left
  from unnest(p_tasks, p_leases) s(id, lease_id) join lease l on l.id = s.lease_id
  where l.queued_kind is not null;
  if o_ids is null then return; end if;
  o_lease := nextval('lease_id_seq');
  insert into lease (id, holder, claimed_at, check_at, open, task_ids, lease_ms)
  overriding system value
  select o_lease, (select min(l.holder) from lease l where l.id = any(v_left)), p_now,
    p_now + least(min(t.timeout_secs) * interval '1 second', p_lease_ms * interval '1 millisecond'),
    cardinality(o_ids), o_ids, p_lease_ms
  from task t where t.id = any(o_ids);
  perform close_leases(v_left);
end $$;
