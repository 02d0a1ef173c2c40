-- Calls of agents, and their orders. Uses the settings of claim.sql for the same reason.

-- Returns the orders of a runner; null if it has ended.
create or replace function runner_orders(p_id uuid, p_now timestamptz)
returns jsonb language sql stable as $$
  select jsonb_build_object('runner_id', r.id, 'number', r.number,
    'state', (array['created', 'idle', 'claimed', 'running'])[r.state + 1], 'epoch', r.epoch, 'request_id', r.request_id,
    'task_id', case when r.number = (select min(m.number) from runner m where m.request_id = r.request_id) then q.task_id end,
    'ready', not exists (select 1 from runner m where m.request_id = r.request_id and m.id <> r.id
      and m.state + 0 = :runner_claimed),
    'peers', case when r.request_id is null then '[]' else runner_peers(r.request_id) end,
    'threshold', floor(extract(epoch from r.threshold) * 1000)::bigint, 'draining', r.draining,
    'now', floor(extract(epoch from coalesce(p_now, clock_timestamp())) * 1000)::bigint)
  from runner r left join runner_request q on q.id = r.request_id
  where r.id = p_id and r.state + 0 < :runner_terminated
$$;

create or replace function runner_heard(p_id uuid, p_now timestamptz)
returns void language sql as $$
  insert into runner_heartbeat as p (runner_id, seen_at) values (p_id, p_now)
  on conflict (runner_id) do update set seen_at = greatest(p.seen_at, excluded.seen_at)
$$;

-- Registers a runner by its ID or its batch; a batch without a recorded result has a free runner for each instance. A
-- launched runner becomes available.
create or replace function runner_register(p_id uuid, p_batch uuid, p_provider_id text, p_address text, p_now timestamptz,
  p_times jsonb)
returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_runner runner;
begin
  if p_id is not null then
    select * into v_runner from runner r where r.id = p_id for update;
  else
    select * into v_runner from runner r where r.batch_id = p_batch and r.provider_id = p_provider_id for update;
    if not found then
      select * into v_runner from runner r
      where r.batch_id = p_batch and r.provider_id is null and r.state + 0 = :runner_created
        order by r.number + 0 limit 1 for update;
    end if;
  end if;
  if v_runner.id is null or v_runner.state = :runner_terminated
    or v_runner.provider_id <> p_provider_id then return null; end if;
  -- An instance that already is another runner must not become this one.
  if v_runner.provider_id is null and exists (
    select 1 from runner r where r.provider = v_runner.provider and r.provider_id = p_provider_id) then
    return null;
  end if;
  if v_runner.provider_id is null or v_runner.address is distinct from p_address then
    update runner r set provider_id = p_provider_id, address = p_address where r.id = v_runner.id;
  end if;
  perform runner_heard(v_runner.id, v_now);
  if v_runner.state = :runner_created and v_runner.type_id is not null then
    perform runner_arrive(array[v_runner.id], v_now, p_times);
  end if;
  return runner_orders(v_runner.id, v_now);
end $$;

-- Records a heartbeat. A runner that registered before its launch was recorded becomes available; a runner that was
-- silent may serve waiting requests again.
create or replace function runner_beat(p_id uuid, p_now timestamptz, p_times jsonb)
returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_seen timestamptz;
  v_state smallint;
  v_type integer;
  v_arrives boolean := false;
begin
  select r.state, r.type_id, p.seen_at into v_state, v_type, v_seen
  from runner r left join runner_heartbeat p on p.runner_id = r.id where r.id = p_id;
  if v_state is null or v_state = :runner_terminated then return null; end if;
  -- Locks the runner before its heartbeat, as everywhere.
  if v_state = :runner_created and v_type is not null and v_seen is not null then
    perform 1 from runner r where r.id = p_id and r.state + 0 = :runner_created for update;
    v_arrives := found;
  end if;
  perform runner_heard(p_id, v_now);
  if v_arrives then
    perform runner_arrive(array[p_id], v_now, p_times);
  elsif v_state = :runner_idle and v_seen <= v_now - (p_times ->> 'heartbeat_max_age_ms')::double precision * interval '1 millisecond' then
    perform runner_tell_pool(p_times);
  end if;
  return runner_orders(p_id, v_now);
end $$;

-- Confirms a claim, after which the runner no longer expires. The last runner of a request to confirm makes all of them
-- ready.
create or replace function runner_confirm(p_id uuid, p_epoch integer, p_now timestamptz, p_times jsonb)
returns boolean language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_mates uuid[];
begin
  update runner r set state = :runner_running, uses = r.uses + 1, confirm_by = null, threshold = '9999-12-31',
    state_since = v_now
  where r.id = p_id and r.epoch = p_epoch and r.state + 0 = :runner_claimed and r.threshold > v_now;
  if not found then return exists (select 1 from runner r where r.id = p_id and r.epoch = p_epoch
    and r.state + 0 = :runner_running); end if;
  perform runner_heard(p_id, v_now);
  v_mates := array(
    select m.id from runner m
    where m.request_id = (select r.request_id from runner r where r.id = p_id) and m.id <> p_id);
  if cardinality(v_mates) > 0 and not exists (select 1 from runner m where m.id = any(v_mates)
    and m.state + 0 = :runner_claimed) then
    perform runner_tell(v_mates, p_times);
  end if;
  return true;
end $$;

-- Releases a runner, which ends its request and releases the other runners of the request too. p_epoch null: any epoch.
-- Returns whether the runner is free, and the runners that became idle.
create or replace function runner_release(p_id uuid, p_epoch integer, p_now timestamptz, p_times jsonb,
  out o_released boolean, out o_idle uuid[])
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz;
  v_runner runner;
  v_free uuid[];
  v_locked boolean;
begin
  o_released := false;
  o_idle := '{}';
  v_locked := p_id = any(runner_lock(array[p_id]));
  select * into v_runner from runner r where r.id = p_id;
  if v_runner.id is null or v_runner.state in (:runner_created, :runner_terminated)
    or v_runner.epoch <> p_epoch then return; end if;
  o_released := true;
  if v_runner.state = :runner_idle then return; end if;
  if not v_locked then raise serialization_failure using message = 'the runner was claimed meanwhile'; end if;
  v_now := coalesce(p_now, clock_timestamp());
  v_free := array(select r.id from runner r where r.request_id = v_runner.request_id order by r.id);
  if p_epoch is not null then perform runner_heard(p_id, v_now); end if;
  -- The reason of the drain becomes the reason of the requeued task.
  update runner_request q set state = :request_ended, ended_at = v_now, kept = 0,
    reason = case when v_runner.draining then v_runner.reason end
  where q.id = v_runner.request_id and q.state + 0 < :request_ended;
  perform runner_tell_waiters(p_times) from runner_request q where q.id = v_runner.request_id and q.source = :source_holder;
  perform runner_arrive(v_free, v_now, p_times);
  o_idle := array(select r.id from runner r where r.id = any(v_free) and r.state + 0 = :runner_idle);
end $$;

-- Ends free runners at once and the others when they are released. Returns the total.
create or replace function runner_drain(p_ids uuid[], p_reason text, p_now timestamptz, p_times jsonb)
returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_free uuid[];
  v_held uuid[];
begin
  select array_agg(l.id) filter (where l.state < :runner_claimed),
    array_agg(l.id) filter (where l.state in (:runner_claimed, :runner_running) and not l.draining)
  into v_free, v_held
  from (select r.id, r.state, r.draining from runner r where r.id = any(p_ids) order by r.id for update) l;
  if v_free is not null then perform runner_end(v_free, p_reason, p_now, p_times); end if;
  if v_held is not null then
    update runner r set draining = true, reason = p_reason where r.id = any(v_held);
    perform runner_tell(v_held, p_times);
  end if;
  return coalesce(cardinality(v_free), 0) + coalesce(cardinality(v_held), 0);
end $$;

create or replace function runner_terminate(p_ids uuid[], p_reason text, p_now timestamptz, p_times jsonb)
returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_locked uuid[] := runner_lock(p_ids);
begin
  if exists (select 1 from runner r where r.id = any(p_ids) and r.state + 0 < :runner_terminated
    and r.id <> all(v_locked)) then
    raise serialization_failure using message = 'one of the runners was claimed meanwhile';
  end if;
  return runner_end(v_locked, p_reason, p_now, p_times);
end $$;
