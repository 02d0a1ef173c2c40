-- Lock order: requests by ID, runners by ID, ready rows. A transaction that holds a runner and needs a request or
-- another runner skips locked rows.
--
-- p_times: {confirm_ms, claim_ms, idle_ms, heartbeat_max_age_ms, reserve_after_ms, max_uses}, as PoolTimes; max_uses null: unlimited.
-- With `quiet`, notifications are not sent but collected in heddle.pending_notices until the transaction ends, and the caller
-- sends them after its commit, since PostgreSQL commits transactions that notify one at a time, each with its fsync.

create or replace function after_ms(p_now timestamptz, p_times jsonb, p_name text)
returns timestamptz language sql stable as $$
  select p_now + (p_times ->> p_name)::double precision * interval '1 millisecond'
$$;

-- Notifies the agents of these runners that their orders changed.
create or replace function runner_tell(p_ids uuid[], p_times jsonb)
returns void language plpgsql as $$
begin
  if p_times ? 'quiet' then
    perform set_config('heddle.pending_notices',
      concat_ws(',', nullif(current_setting('heddle.pending_notices', true), ''), array_to_string(p_ids, ',')), true);
  else
    perform pg_notify('heddle_runner', u.id::text) from unnest(p_ids) u(id);
  end if;
end $$;

-- Notifies the pool that idle runners may be able to serve waiting requests.
create or replace function runner_tell_pool(p_times jsonb)
returns void language plpgsql as $$
begin
  if p_times ? 'quiet' then
    perform set_config('heddle.pending_notices', concat_ws(',', nullif(current_setting('heddle.pending_notices', true), ''), 'pool'), true);
  else
    perform pg_notify('heddle_pool', '');
  end if;
end $$;

-- Notifies clients that holds were settled.
create or replace function runner_tell_waiters(p_times jsonb)
returns void language plpgsql as $$
begin
  if p_times ? 'quiet' then
    perform set_config('heddle.pending_notices', concat_ws(',', nullif(current_setting('heddle.pending_notices', true), ''), 'settled'), true);
  else
    perform pg_notify('heddle_pool', 'settled');
  end if;
end $$;

-- Locks runners, their requests, and the other runners of these. Returns runners that are not terminated; a runner that
-- was claimed meanwhile is left out, since its request is not locked.
create or replace function runner_lock(p_ids uuid[])
returns uuid[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_requests uuid[];
  v_all uuid[];
  v_locked uuid[];
begin
  v_requests := array(
    select distinct r.request_id from runner r
    where r.id = any(p_ids) and r.request_id is not null and r.state + 0 in (:runner_claimed, :runner_running)
      order by r.request_id);
  v_all := p_ids;
  if cardinality(v_requests) > 0 then
    perform 1 from runner_request q where q.id = any(v_requests) order by q.id for update;
    v_all := array(
      select u.id from unnest(p_ids) u(id)
      union select r.id from runner r where r.request_id = any(v_requests) and r.request_id is not null);
  end if;
  -- Locks in a statement of its own: a condition on the result would be pushed down, and leave the others unlocked.
  perform 1 from runner r where r.id = any(v_all) order by r.id for update;
  v_locked := array(
    select r.id from runner r
    where r.id = any(p_ids) and r.state + 0 < :runner_terminated
      and (r.request_id is null or r.request_id = any(v_requests)));
  return v_locked;
end $$;

-- Moves ready rows from the lanes of these runners back to the queue for runners.
create or replace function runner_leave_lanes(p_numbers integer[])
returns void language sql as $$
  -- A task that was paused and resumed meanwhile already has a row there.
  with gone as (
    delete from ready where lane = any(array(select -n from unnest(p_numbers) u(n))) returning rank, task_id, slots
  )
  insert into ready (lane, rank, task_id, slots) select :lane_runners, g.rank, g.task_id, g.slots from gone g
  on conflict (lane, rank, task_id) do update set slots = coalesce(ready.slots, excluded.slots);
  update blocked set lane = :lane_runners where lane < :lane_webhook
    and lane = any(array(select -n from unnest(p_numbers) u(n)))
$$;

-- Sets aside the ready rows of tasks whose requests (the given ones) wait, until they are granted.
create or replace function runner_set_aside(p_requests uuid[])
returns void language sql as $$
  with gone as (
    delete from ready y using runner_request q, task t
    where q.id = any(p_requests) and q.task_id is not null and q.state + 0 = :request_waiting and t.id = q.task_id
      and y.lane = :lane_runners and y.rank = -t.priority and y.task_id = t.id
    returning y.rank, y.task_id, y.slots
  )
  insert into ready (lane, rank, task_id, slots) select asked_lane(), g.rank, g.task_id, g.slots from gone g
  on conflict (lane, rank, task_id) do update set slots = coalesce(ready.slots, excluded.slots)
$$;

-- Returns ready rows of ended requests to the queue, to be deleted or to request runners again.
create or replace function runner_bring_back(p_requests uuid[])
returns void language sql as $$
  with gone as (
    delete from ready y using runner_request q, task t
    where q.id = any(p_requests) and q.task_id is not null and q.state + 0 = :request_ended and t.id = q.task_id
      and y.lane = asked_lane() and y.rank = -t.priority and y.task_id = t.id
    returning y.rank, y.task_id, y.slots
  )
  insert into ready (lane, rank, task_id, slots) select :lane_runners, g.rank, g.task_id, g.slots from gone g
  on conflict (lane, rank, task_id) do update set slots = coalesce(ready.slots, excluded.slots)
$$;

-- Safety net for rows that were set aside but have no request.
create or replace function runner_bring_back_strays(p_limit integer)
returns integer language plpgsql set enable_seqscan = off as $$
declare
  v_tids tid[];
  v_count integer;
begin
  v_tids := array(
    select y.ctid from ready y
    where y.lane = asked_lane() and not exists (
      select 1 from runner_request q where q.task_id = y.task_id and q.state < :request_ended
        and q.state = :request_waiting)
    limit p_limit for update of y skip locked);
  if cardinality(v_tids) = 0 then return 0; end if;
  with gone as (
    delete from ready where ctid = any(v_tids) returning rank, task_id, slots
  )
  insert into ready (lane, rank, task_id, slots) select :lane_runners, g.rank, g.task_id, g.slots from gone g
  on conflict (lane, rank, task_id) do update set slots = coalesce(ready.slots, excluded.slots);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Claims locked runners for locked waiting requests, one pair per runner; the ready row of a task moves to the lane of
-- the first runner of its request.
create or replace function runner_grants(p_requests uuid[], p_runners uuid[], p_now timestamptz, p_times jsonb)
returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_holders boolean;
  v_count bigint;
  v_tasks uuid[];
  v_lanes integer[];
begin
  update runner r set state = :runner_claimed, epoch = r.epoch + 1, request_id = u.request, state_since = v_now,
    confirm_by = runner_type_after(v_now, r.type_id, p_times, 'confirm_ms'),
    threshold = runner_type_after(v_now, r.type_id, p_times, 'claim_ms'),
    offered_at = null, suspected_at = null
  from unnest(p_requests, p_runners) u(request, runner) where r.id = u.runner;
  with granted as (
    update runner_request q set state = :request_granted, granted_at = v_now, exhaustion = null, reason = null,
      kept = 0, room_from = null,
      room_until = null
    where q.id = any(p_requests) returning q.source
  )
  select bool_or(g.source = :source_holder), max(nextval('runner_grant_count')) into v_holders, v_count from granted g;
  if v_holders then perform runner_tell_waiters(p_times); end if;
  select array_agg(f.task_id), array_agg(-f.number) into v_tasks, v_lanes
  from (
    select q.task_id, min(r.number) as number
    from unnest(p_requests, p_runners) u(request, runner)
    join runner_request q on q.id = u.request and q.task_id is not null join runner r on r.id = u.runner
    group by q.task_id) f;
  if v_tasks is not null then
    -- A task that was paused and resumed while it waited may have a row in either lane.
    with gone as (
      delete from ready y using unnest(v_tasks, v_lanes) u(id, lane), task t
      where t.id = u.id and y.lane = any(array[:lane_runners, asked_lane()]) and y.rank = -t.priority and y.task_id = u.id
      returning u.lane, y.rank, y.task_id, y.slots
    )
    insert into ready (lane, rank, task_id, slots)
    select distinct on (g.task_id) g.lane, g.rank, g.task_id, g.slots from gone g order by g.task_id, g.slots nulls last
    on conflict (lane, rank, task_id) do update set slots = coalesce(ready.slots, excluded.slots);
    update blocked b set lane = u.lane from unnest(v_tasks, v_lanes) u(id, lane) where b.lane = :lane_runners
      and b.task_id = u.id;
  end if;
  perform runner_tell(p_runners, p_times);
end $$;

create or replace function runner_grant(p_request uuid, p_runners uuid[], p_now timestamptz, p_times jsonb)
returns void language sql as $$
  select runner_grants(array_fill(p_request, array[cardinality(p_runners)]), p_runners, p_now, p_times)
$$;

-- Handles locked runners that became free: each ends if it is drained or used up, is granted to the first waiting
-- request, or becomes idle. Returns how many became idle.
create or replace function runner_arrive(p_ids uuid[], p_now timestamptz, p_times jsonb)
returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_numbers integer[];
  v_used_up uuid[];
  v_idle uuid[];
  v_left uuid[];
  v_ended uuid[];
begin
  select array_agg(r.number) filter (where r.state in (:runner_claimed, :runner_running)),
    array_agg(r.id) filter (where not r.draining and r.uses >= runner_type_time(r.type_id, p_times, 'max_uses')),
    array_agg(r.id) filter (where not r.draining and r.type_id is not null)
  into v_numbers, v_used_up, v_idle
  from runner r where r.id = any(p_ids) and r.state + 0 < :runner_terminated;
  if v_used_up is not null then v_idle := array(select u.id from unnest(v_idle) u(id) where u.id <> all(v_used_up)); end if;
  if v_numbers is not null then perform runner_leave_lanes(v_numbers); end if;
  with ended as (
    update runner r set state = :runner_terminated, request_id = null, confirm_by = null, threshold = v_now,
      state_since = v_now,
      offered_at = null, reason = case when r.draining then coalesce(r.reason, 'drained') else 'used up' end
    where r.id = any(p_ids) and r.state + 0 < :runner_terminated and (r.draining or r.id = any(v_used_up))
    returning r.id
  )
  select array_agg(e.id) into v_ended from ended e;
  if v_ended is not null then perform runner_tell(v_ended, p_times); end if;
  if coalesce(cardinality(v_idle), 0) = 0 then return 0; end if;
  update runner r set state = :runner_idle, request_id = null, confirm_by = null,
    threshold = runner_type_after(v_now, r.type_id, p_times, 'idle_ms'), state_since = v_now, offered_at = null, suspected_at = null
  where r.id = any(v_idle);
  v_left := array(select u.id from unnest(v_idle) u(id) except select o.id from unnest(runner_hand_over(v_idle, v_now, p_times)) o(id));
  if cardinality(v_left) > 0 then perform runner_tell(v_left, p_times); end if;
  return cardinality(v_left);
end $$;

-- Locked holds that lost runners keep the others while they wait for replacements. A hold that was granted once no
-- longer expires while it waits.
create or replace function runner_keep(p_requests uuid[], p_times jsonb)
returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_kept uuid[] := array(select r.id from runner r where r.request_id = any(p_requests) order by r.id);
begin
  update runner_request q set expires_at = null, exhaustion = null,
    kept = (select count(*) from runner r where r.request_id = q.id)
  where q.id = any(p_requests);
  if cardinality(v_kept) > 0 then perform runner_tell(v_kept, p_times); end if;
end $$;

-- Ends runners that runner_lock returned. Their requests wait again at their old rank: a hold keeps its other runners
-- and waits for replacements, the other runners of a task are released. A request of a started attempt ends with its
-- first runner. Returns how many ended.
create or replace function runner_end(p_ids uuid[], p_reason text, p_now timestamptz, p_times jsonb)
returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[];
  v_numbers integer[];
  v_held uuid[];
  v_begun uuid[];
  v_broken uuid[];
  v_holds uuid[];
  v_rest uuid[];
  v_mates uuid[];
begin
  select array_agg(r.id), array_agg(r.number) filter (where r.state in (:runner_claimed, :runner_running)),
    array_agg(distinct r.request_id) filter (where r.state in (:runner_claimed, :runner_running))
  into v_ids, v_numbers, v_held
  from runner r where r.id = any(p_ids) and r.state + 0 < :runner_terminated;
  if v_ids is null then return 0; end if;
  if v_held is not null then
    -- A started attempt continues as long as the runner that executes it.
    v_begun := array(
      select q.id from runner_request q join task t on t.id = q.task_id
      where q.id = any(v_held) and t.attempt >= q.attempt);
    v_broken := array(
      select h.id from unnest(v_held) h(id)
      where h.id <> all(v_begun)
        or (select r.id from runner r where r.request_id = h.id order by r.number limit 1) = any(v_ids));
    v_holds := array(select q.id from runner_request q where q.id = any(v_broken) and q.source = :source_holder);
    v_mates := array(
      select r.id from runner r
      where r.request_id = any(v_broken) and r.request_id <> all(v_holds) and r.id <> all(v_ids) order by r.id);
  end if;
  update runner r set state = :runner_terminated, request_id = null, confirm_by = null, threshold = v_now,
    state_since = v_now,
    offered_at = null, reason = p_reason
  where r.id = any(v_ids);
  perform runner_tell(v_ids, p_times);
  if v_held is not null then
    perform runner_leave_lanes(v_numbers);
    update runner_request q set
      state = case when q.id = any(v_begun) then :request_ended else :request_waiting end,
      granted_at = case when q.id = any(v_begun) then q.granted_at end,
      ended_at = case when q.id = any(v_begun) then v_now end,
      exhaustion = null, reason = case when q.id = any(v_begun) then p_reason end
    where q.id = any(v_broken) and q.state + 0 = :request_granted;
    if cardinality(v_holds) > 0 then perform runner_keep(v_holds, p_times); end if;
    -- A running task is notified that it has fewer runners.
    v_rest := array(select r.id from runner r where r.request_id = any(v_held) and r.request_id <> all(v_broken));
    if cardinality(v_rest) > 0 then perform runner_tell(v_rest, p_times); end if;
    if cardinality(v_mates) > 0 then perform runner_arrive(v_mates, v_now, p_times); end if;
    perform runner_tell_pool(p_times);
  end if;
  return cardinality(v_ids);
end $$;
