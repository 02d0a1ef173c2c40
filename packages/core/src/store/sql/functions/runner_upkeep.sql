-- Ends runners by timeout, missed heartbeats and listings of the provider. Any number of servers may run this
-- concurrently: they skip each other's locked rows, lock requests before runners, both by ID, and check every condition
-- again under the lock. p_times: as in the functions that claim, plus heartbeat_timeout_ms and recheck_ms.

-- Locks runners that are not terminated, with their requests and the other runners of these; returns the locked
-- runners. Skips locked requests and locked runners without a request, but waits for the runners of a locked request.
create or replace function runner_lock_free(p_ids uuid[])
returns uuid[] language plpgsql set enable_seqscan = off as $$
declare
  v_requests uuid[];
  v_held uuid[];
begin
  v_requests := array(
    select q.id from runner_request q
    where q.id = any(array(select r.request_id from runner r where r.id = any(p_ids) and r.request_id is not null))
    order by q.id for update skip locked);
  v_held := array(
    select r.id from runner r where r.request_id = any(v_requests) and r.request_id is not null order by r.id for update);
  return array(select h.id from unnest(v_held) h(id) where h.id = any(p_ids))
    || array(
      select r.id from runner r where r.id = any(p_ids) and r.state < :runner_terminated and r.request_id is null
      order by r.id for update skip locked);
end $$;

-- Returns the locked runners whose heartbeat is being recorded by another transaction: they are not silent. Heartbeats
-- of the others wait until this transaction ends.
create or replace function runner_speaking(p_ids uuid[])
returns uuid[] language plpgsql set enable_seqscan = off as $$
declare
  v_quiet uuid[];
begin
  v_quiet := array(select l.runner_id from runner_heartbeat l where l.runner_id = any(p_ids)
    order by l.runner_id for update skip locked);
  return array(select l.runner_id from runner_heartbeat l where l.runner_id = any(p_ids) and l.runner_id <> all(v_quiet));
end $$;

-- Ends locked runners; returns how many requests wait again.
create or replace function runner_end_counted(p_ids uuid[], p_reason text, p_now timestamptz, p_times jsonb)
returns integer language plpgsql as $$
declare
  v_requests uuid[];
begin
  v_requests := array(select distinct r.request_id from runner r where r.id = any(p_ids) and r.request_id is not null);
  perform runner_end(p_ids, p_reason, p_now, p_times);
  return (select count(*) from runner_request q where q.id = any(v_requests) and q.state = :request_waiting);
end $$;

-- Returns why a runner must end; null if it need not. p_seen: its last heartbeat. A silence must have started before
-- the first check, so that a heartbeat after it always clears the suspicion.
create or replace function runner_fate(p_runner runner, p_seen timestamptz, p_silent interval, p_recheck interval,
  p_now timestamptz)
returns text language sql immutable as $$
  select case
    when p_runner.state = :runner_claimed and least(p_runner.confirm_by, p_runner.threshold) <= p_now then 'unconfirmed'
    when p_runner.state = :runner_created and p_runner.threshold <= p_now
      then case when p_runner.provider_id is null then 'never launched' else 'never registered' end
    when p_runner.state in (:runner_idle, :runner_claimed, :runner_running)
      and p_runner.suspected_at <= p_now - p_recheck and p_seen < p_runner.suspected_at and p_seen <= p_now - p_silent
      then 'lost'
  end
$$;

-- Returns those of the given task requests that need no runner any more: their attempt has ended, or will not start as
-- things stand. Canceled attempts count as open until their worker has released them.
create or replace function runner_requests_over(p_ids uuid[])
returns setof uuid language sql stable set enable_seqscan = off as $$
  select q.id
  from unnest(p_ids) u(id) join runner_request q on q.id = u.id left join task t on t.id = q.task_id
  cross join lateral (select case when q.state = :request_waiting then array[:lane_runners, asked_lane()] else
    array[-(select min(r.number) from runner r where r.request_id = q.id)] end as lanes) l
  where q.task_id is not null and q.state < :request_ended and case
    when t.id is null then true
    when t.attempt = q.attempt - 1 then t.state <> :pending or not (
      exists (select 1 from ready y where y.lane = any(l.lanes) and y.rank = -t.priority and y.task_id = t.id)
      or exists (select 1 from blocked b
        where b.slot_id = any(t.rule_slots) and b.rank = -t.priority and b.task_id = t.id and b.lane = any(l.lanes)))
    when t.attempt = q.attempt and q.state = :request_granted then
      case when t.state >= :terminal then t.lease_id is null
        when t.state = :paused then t.paused_from in (:waiting, :pending) else t.state in (:waiting, :pending) end
    else true
  end
$$;

-- Waiting requests, at most p_limit: the first ones of every shape, so that a shape that cannot be served hides no
-- other.
create or replace function runner_waiting_heads(p_limit integer)
returns uuid[] language sql stable as $$
  select array(
    select h.id from runner_shape s cross join lateral (
      select q.id, row_number() over (order by q.rank, q.id) as place from runner_request q
      where q.shape_id = s.id and q.state = :request_waiting order by q.rank, q.id limit p_limit / 2) h
    order by h.place limit p_limit)
$$;

-- Ends requests of tasks that need no runner any more and releases their runners; returns how many. A task that is
-- resumed before its attempt started may request runners again.
create or replace function runner_release_over(p_limit integer, p_now timestamptz, p_times jsonb)
returns integer language plpgsql set enable_seqscan = off as $$
declare
  v_requests uuid[];
  v_runners uuid[];
begin
  v_requests := array(
    select o from runner_requests_over(
      array(select q.id from runner_request q where q.state = :request_granted and q.task_id is not null)
      || runner_waiting_heads(p_limit)) o
    limit p_limit);
  if cardinality(v_requests) = 0 then return 0; end if;
  v_requests := array(select q.id from runner_request q where q.id = any(v_requests) and q.state < :request_ended
    order by q.id for update skip locked);
  v_requests := array(select o from runner_requests_over(v_requests) o);
  if cardinality(v_requests) = 0 then return 0; end if;
  -- A granted request has a reason only if it lost its runners; its attempt uses that reason.
  update runner_request q set state = :request_ended, ended_at = p_now,
    reason = case when q.state = :request_waiting then 'its task no longer waits for a runner' end
  where q.id = any(v_requests);
  perform runner_bring_back(v_requests);
  v_runners := array(select r.id from runner r where r.request_id = any(v_requests)
    and r.state in (:runner_claimed, :runner_running)
    order by r.id for update);
  if cardinality(v_runners) > 0 then perform runner_arrive(v_runners, p_now, p_times); end if;
  return cardinality(v_runners);
end $$;

-- Ends overdue idle runners, oldest first; those within the minimum get a new threshold. One server at a time, since
-- two concurrent counts would both find one too many. p_keep: [{resource_class, usage_class, count}].
create or replace function runner_retire_idle(p_limit integer, p_keep jsonb, p_now timestamptz, p_times jsonb)
returns integer language plpgsql set enable_seqscan = off as $$
declare
  v_due uuid[];
  v_kept uuid[];
begin
  v_due := array(select r.id from runner r where r.state < :runner_terminated and r.state = :runner_idle
    and r.threshold <= p_now
    order by r.threshold limit p_limit);
  if cardinality(v_due) = 0 or not pg_try_advisory_xact_lock(hashtextextended('heddle.runner_retire', 0)) then return 0; end if;
  v_due := runner_lock_free(v_due);
  with due as (
    select r.id, r.threshold, y.resource_class, y.usage_class from runner r join runner_type y on y.id = r.type_id
    where r.id = any(v_due) and r.state = :runner_idle and r.threshold <= p_now
  ), kept as (
    select k.resource_class, k.usage_class, (
      select count(*) from runner i join runner_type y on y.id = i.type_id
      where i.state = :runner_idle and not i.draining and y.resource_class = k.resource_class
        and y.usage_class = k.usage_class)
      - max(k.count) as surplus
    from jsonb_to_recordset(p_keep) k(resource_class text, usage_class smallint, count integer)
    group by k.resource_class, k.usage_class
  ), ranked as (
    select d.id, k.surplus, row_number() over (partition by d.resource_class, d.usage_class order by d.threshold, d.id) as n
    from due d left join kept k using (resource_class, usage_class)
  )
  select array_agg(d.id order by d.id) filter (where d.surplus is null or d.n <= d.surplus),
    array_agg(d.id) filter (where d.n > d.surplus)
  into v_due, v_kept from ranked d;
  -- Queue backends must receive the new threshold.
  update runner r set threshold = runner_type_after(p_now, r.type_id, p_times, 'idle_ms'), offered_at = null where r.id = any(v_kept);
  if v_due is null then return 0; end if;
  perform runner_end(v_due, 'idle too long', p_now, p_times);
  return cardinality(v_due);
end $$;

-- Returns runners without a recent heartbeat, at most p_limit of each kind: those to be suspected from now on, and those
-- that this second check ends. Reads all live runners with their heartbeats, which leaves the plan to the planner.
create or replace function runner_find_silent(p_limit integer, p_silent interval, p_recheck interval, p_now timestamptz,
  out o_suspected uuid[], out o_lost uuid[])
language plpgsql set enable_seqscan = on as $$
begin
  with silent as (
    select r.id, coalesce(l.seen_at, r.state_since) as seen, r.suspected_at
    from runner r left join runner_heartbeat l on l.runner_id = r.id
    where r.state < :runner_terminated and r.state > :runner_created
      and coalesce(l.seen_at, r.state_since) <= p_now - p_silent
  )
  select (array_agg(s.id) filter (where s.suspected_at is null or s.seen >= s.suspected_at))[1:p_limit],
    (array_agg(s.id) filter (where s.suspected_at <= p_now - p_recheck and s.seen < s.suspected_at))[1:p_limit]
  into o_suspected, o_lost from silent s;
end $$;

-- Records a first check. Runs last in its transaction: a transaction that locks runners without their requests must not
-- wait for other locks.
create or replace function runner_suspect(p_ids uuid[], p_now timestamptz)
returns void language plpgsql set enable_seqscan = off as $$
declare
  v_ids uuid[];
begin
  if p_ids is null then return; end if;
  v_ids := array(select r.id from runner r where r.id = any(p_ids) and r.state < :runner_terminated
    order by r.id for update skip locked);
  update runner r set suspected_at = p_now where r.id = any(v_ids);
end $$;

-- Counts ended runners, each once across all servers, the earliest ends first, at most p_limit. Returns
-- [{reason, had_instance, count}].
create or replace function runner_count_ended(p_limit integer)
returns jsonb language sql set enable_seqscan = off as $$
  with counted as (
    update runner r set counted = true
    where r.id = any(array(
      select e.id from runner e where e.state = :runner_terminated and not e.counted
        order by e.state_since limit p_limit for update skip locked))
    returning r.reason, r.provider_id is not null as had_instance
  )
  select coalesce(jsonb_agg(jsonb_build_object('reason', n.reason, 'had_instance', n.had_instance, 'count', n.count)), '[]')
  from (select c.reason, c.had_instance, count(*) from counted c group by 1, 2) n
$$;

-- Ends everything overdue, at most p_limit of each kind. Returns {ended: {reason: count}, requeued, expired, released}.
create or replace function runner_sweep(p_limit integer, p_keep jsonb, p_now timestamptz, p_times jsonb)
returns json language plpgsql set enable_seqscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_silent interval := after_ms(v_now, p_times, 'heartbeat_timeout_ms') - v_now;
  v_recheck interval := after_ms(v_now, p_times, 'recheck_ms') - v_now;
  v_suspected uuid[];
  v_over uuid[];
  v_speaking uuid[];
  v_fate record;
  v_ended jsonb := '{}';
  v_requeued integer := 0;
  v_expired integer;
  v_released integer;
  v_idle integer;
begin
  update runner_request q set state = :request_ended, ended_at = v_now, reason = 'no runner became available in time'
  where q.id = any(array(select w.id from runner_request w where w.state = :request_waiting and w.expires_at <= v_now
    order by w.expires_at limit p_limit for update skip locked));
  get diagnostics v_expired = row_count;
  if v_expired > 0 then perform runner_tell_waiters(p_times); end if;
  v_released := runner_release_over(p_limit, v_now, p_times);

  select s.o_suspected, s.o_lost into v_suspected, v_over from runner_find_silent(p_limit, v_silent, v_recheck, v_now) s;
  v_over := v_over
    || array(select r.id from runner r where r.state = :runner_claimed and r.confirm_by <= v_now
      order by r.confirm_by limit p_limit)
    || array(select r.id from runner r where r.state < :runner_terminated
      and r.state in (:runner_created, :runner_claimed) and r.threshold <= v_now
         order by r.threshold limit p_limit);
  if cardinality(v_over) > 0 then
    v_over := runner_lock_free(v_over);
    v_speaking := runner_speaking(v_over);
    for v_fate in
      select f.fate, array_agg(f.id order by f.id) as ids from (
        select r.id, runner_fate(r,
          case when r.id = any(v_speaking) then v_now else coalesce(l.seen_at, r.state_since) end,
          v_silent, v_recheck, v_now) as fate
        from runner r left join runner_heartbeat l on l.runner_id = r.id where r.id = any(v_over)) f
      where f.fate is not null group by f.fate order by f.fate
    loop
      v_requeued := v_requeued + runner_end_counted(v_fate.ids, v_fate.fate, v_now, p_times);
      v_ended := v_ended || jsonb_build_object(v_fate.fate, cardinality(v_fate.ids));
    end loop;
  end if;
  v_idle := runner_retire_idle(p_limit, p_keep, v_now, p_times);
  if v_idle > 0 then v_ended := v_ended || jsonb_build_object('idle too long', v_idle); end if;
  perform runner_suspect(v_suspected, v_now);
  return json_build_object('ended', v_ended, 'requeued', v_requeued, 'expired', v_expired, 'released', v_released);
end $$;
