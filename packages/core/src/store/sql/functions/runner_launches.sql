-- Launches: plans that are recorded before the call, batches that are leased by one process at a time, and their
-- results. p_times: as in the functions that claim, plus created_ms and register_ms.

-- Inserts batches with their runners; existing ones are left unchanged. `coming` of a batch: created runners of its
-- shape that its planner saw; if the number has changed, another process has covered the same shortage. p_max: maximum
-- number of runners that are not terminated; batches are cut to the remaining capacity. Returns the number of runners.
create or replace function runner_plan(p_batches jsonb, p_max integer, p_now timestamptz, p_times jsonb)
returns integer language plpgsql as $$
declare
  v_now timestamptz;
  v_room bigint;
  v_planned integer;
begin
  -- Serializes planners, so that each counts the plans of the others.
  perform pg_advisory_xact_lock(hashtextextended('heddle.runner_plan', 0));
  v_now := coalesce(p_now, clock_timestamp());
  if p_max is not null then v_room := p_max - (select count(*) from runner where state < :runner_terminated); end if;
  with given as (
    select b.* from rows from (jsonb_to_recordset(p_batches) as (id uuid, provider text, shape_id integer, cpu integer,
      memory_mib integer, coming integer, runner_ids uuid[])) with ordinality
      b(id, provider, shape_id, cpu, memory_mib, coming, runner_ids, ord)
  ), wanted as (
    select g.*, coalesce(sum(cardinality(g.runner_ids)) over (order by g.ord
      rows between unbounded preceding and 1 preceding), 0) as before
    from given g
    where not exists (select 1 from runner_batch b where b.id = g.id)
      and (g.coming is null
        or g.coming = (select count(*) from runner r where r.shape_id = g.shape_id and r.state = :runner_created))
  ), batches as (
    insert into runner_batch (id, provider, shape_id, cpu, memory_mib, planned_at, next_try_at)
    select w.id, w.provider, w.shape_id, w.cpu, w.memory_mib, v_now, v_now from wanted w
    where cardinality(w.runner_ids) > 0 and (v_room is null or w.before < v_room)
    on conflict do nothing returning id
  ), made as (
    insert into runner (id, provider, batch_id, shape_id, state, threshold, created_at, state_since)
    select u.id, w.provider, w.id, w.shape_id, :runner_created, after_ms(v_now, p_times, 'created_ms'), v_now, v_now
    from batches b join wanted w on w.id = b.id, unnest(w.runner_ids) with ordinality u(id, n)
    where v_room is null or w.before + u.n <= v_room
    order by w.ord, u.n
    on conflict do nothing returning 1
  )
  select count(*) into v_planned from made;
  -- Requests that waited for capacity now have it.
  update runner_request q set room_until = null
  where q.id = any(array(
    select w.id from (
      select n.shape_id, count(*) as coming from jsonb_to_recordset(p_batches) b(id uuid, shape_id integer)
      join runner n on n.batch_id = b.id and n.state = :runner_created group by n.shape_id) c
    cross join lateral (
      select o.id from runner_request o
      where o.shape_id = c.shape_id and o.state = :request_waiting and o.room_until is not null
      order by o.rank, o.id limit c.coming for update skip locked) w));
  return v_planned;
end $$;

-- Frees capacity in a full pool for a waiting request without launching runners: ends idle runners that fit neither
-- this request nor an earlier one, the longest idle first, as many as needed or none. If there are too few, at most
-- p_overtakes other requests may overtake it, counted from the first call, until p_lease_ms after the last one.
-- p_missing: runners that it lacks and that are not launching; p_coming: created runners of its shape that its planner
-- saw. Returns how many ended.
create or replace function runner_plan_evictions(p_request uuid, p_missing integer, p_coming integer, p_max integer,
  p_overtakes integer, p_lease_ms bigint, p_now timestamptz, p_times jsonb)
returns integer language plpgsql set enable_seqscan = off as $$
declare
  v_now timestamptz;
  v_request runner_request;
  v_needed bigint;
  v_wanted integer[];
  v_ids uuid[];
begin
  -- Serializes planners, so that each counts the plans of the others.
  perform pg_advisory_xact_lock(hashtextextended('heddle.runner_plan', 0));
  v_now := coalesce(p_now, clock_timestamp());
  select * into v_request from runner_request q where q.id = p_request
    and q.state + 0 = :request_waiting for update skip locked;
  if not found or p_coming <> (select count(*) from runner r where r.shape_id = v_request.shape_id
    and r.state = :runner_created) then
    return 0;
  end if;
  v_needed := p_missing - (p_max - (select count(*) from runner where state < :runner_terminated));
  if v_needed <= 0 then return 0; end if;
  v_wanted := array(
    select distinct f.type_id from runner_shape s join runner_fit f on f.shape_id = s.id
    where exists (
      select 1 from runner_request q
      where q.shape_id = s.id and q.state = :request_waiting and (q.rank, q.id) <= (v_request.rank, v_request.id)));
  v_ids := array(
    select r.id from runner r where r.state = :runner_idle and r.type_id <> all(v_wanted)
    order by r.state_since, r.id limit v_needed for update skip locked);
  if cardinality(v_ids) < v_needed then
    update runner_request q set room_from = coalesce(q.room_from, runner_grants_so_far() + p_overtakes),
      room_until = v_now + p_lease_ms * interval '1 millisecond'
    where q.id = p_request;
    return 0;
  end if;
  return runner_end(v_ids, 'evicted', v_now, p_times);
end $$;

-- Leases due batches for p_lease_ms; a batch without a result by then is leased to the next process. The budget of the
-- provider, in runners, is shared by all processes. A batch larger than p_burst passes if the budget is full, and the
-- debt is paid off before the next one. `tries`: earlier tries.
create or replace function runner_take_batches(p_provider text, p_limit integer, p_lease_ms bigint, p_per_second double precision,
  p_burst double precision, p_now timestamptz)
returns table (id uuid, requirements jsonb, cpu integer, memory_mib integer, runner_ids uuid[], planned_at timestamptz,
  tries integer)
language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_tokens double precision;
  v_due uuid[];
  v_dead uuid[];
  v_taken uuid[];
  v_cost bigint;
begin
  if not exists (select 1 from runner_batch b where b.provider = p_provider and b.next_try_at <= v_now) then return; end if;
  insert into runner_budget (provider, tokens, refilled_at) values (p_provider, p_burst, v_now) on conflict do nothing;
  select g.tokens, greatest(g.refilled_at, coalesce(p_now, clock_timestamp())) into v_tokens, v_now
  from runner_budget g where g.provider = p_provider for update;
  select least(p_burst, v_tokens + p_per_second * extract(epoch from v_now - g.refilled_at)) into v_tokens
  from runner_budget g where g.provider = p_provider;

  v_due := array(select b.id from runner_batch b where b.provider = p_provider and b.next_try_at <= v_now
    order by b.next_try_at, b.id limit p_limit for update skip locked);
  -- Every try must be the same call, so the runners of a batch are fixed when it is first leased: runners that ended
  -- earlier are removed, runners that end later are launched and then terminated.
  update runner r set batch_id = null
  where r.batch_id = any(v_due) and r.state = :runner_terminated
    and exists (select 1 from runner_batch b where b.id = r.batch_id and b.tries = 0);
  v_dead := array(select u.id from unnest(v_due) u(id)
    where not exists (select 1 from runner r where r.batch_id = u.id and r.state = :runner_created));
  update runner_batch b set next_try_at = null, reason = coalesce(b.reason, 'its runners ended before they were launched')
  where b.id = any(v_dead);

  select array_agg(c.id), sum(c.size) into v_taken, v_cost from (
    select p.id, p.size, bool_and(v_tokens - p.before >= least(p.size, p_burst)) over (order by p.ord) as affordable
    from (
      select s.*, coalesce(sum(s.size) over (order by s.ord rows between unbounded preceding and 1 preceding), 0) as before
      from (
        select u.id, u.ord, (select count(*) from runner r where r.batch_id = u.id) as size
        from unnest(v_due) with ordinality u(id, ord) where u.id <> all(v_dead)) s) p) c
  where c.affordable;
  if v_taken is null then return; end if;
  update runner_budget g set tokens = v_tokens - v_cost, refilled_at = v_now where g.provider = p_provider;
  return query
    with taken as (
      update runner_batch b set next_try_at = v_now + p_lease_ms * interval '1 millisecond', tries = b.tries + 1
      where b.id = any(v_taken)
      returning b.id, b.shape_id, b.cpu, b.memory_mib, b.planned_at, b.tries - 1 as before
    )
    select t.id, s.requirements, t.cpu, t.memory_mib,
      array(select r.id from runner r where r.batch_id = t.id order by r.number), t.planned_at, t.before
    from taken t join runner_shape s on s.id = t.shape_id
    order by array_position(v_taken, t.id);
end $$;

-- Sets the reason of the last failed launch on the waiting requests of a shape; null: it succeeded. Skips requests
-- locked by other transactions, which decide about them in any case.
create or replace function runner_note_launch(p_shape integer, p_reason text)
returns void language plpgsql as $$
begin
  update runner_request q set reason = p_reason
  where q.id = any(array(
    select w.id from runner_request w where w.shape_id = p_shape and w.state = :request_waiting and w.reason is distinct
      from p_reason
    order by w.rank, w.id limit 1000 for no key update skip locked));
end $$;

-- Records the result of a launch: [{runner_id, provider_id, type_id}]. An instance is assigned to the runner that
-- already has its provider_id (its agent registered before the answer arrived), or the one it was started for, or one
-- of the batch without an instance. Runners without an instance end. Ended runners get theirs too, so that it is
-- terminated.
create or replace function runner_launched(p_batch uuid, p_runners jsonb, p_missing text, p_now timestamptz, p_times jsonb)
returns void language plpgsql as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_batch runner_batch;
  v_left uuid[];
  v_heard uuid[];
begin
  select * into v_batch from runner_batch b where b.id = p_batch for update;
  if not found then return; end if;
  perform runner_note_launch(v_batch.shape_id, p_missing);
  perform 1 from runner r where r.batch_id = p_batch order by r.id for update;

  with answer as (
    select distinct on (a.provider_id) a.*
    from rows from (jsonb_to_recordset(p_runners) as (runner_id uuid, provider_id text, type_id integer)) with ordinality
      a(runner_id, provider_id, type_id, ord)
    order by a.provider_id, a.ord
  ), held as (
    select a.ord, r.id from answer a join runner r on r.provider = v_batch.provider and r.provider_id = a.provider_id
  ), meant as (
    select distinct on (r.id) a.ord, r.id from answer a join runner r on r.id = a.runner_id
    where r.batch_id = p_batch and r.provider_id is null and a.ord not in (select h.ord from held h)
    order by r.id, a.ord
  ), nameless as (
    select a.ord, row_number() over (order by a.ord) as n from answer a
    where a.ord not in (select h.ord from held h union all select m.ord from meant m)
  ), spare as (
    select r.id, row_number() over (order by r.state, r.number) as n from runner r
    where r.batch_id = p_batch and r.provider_id is null and r.id not in (select m.id from meant m)
  ), pairs as (
    select ord, id from held union all select ord, id from meant
    union all select n.ord, s.id from nameless n join spare s on s.n = n.n
  )
  update runner r set provider_id = a.provider_id, type_id = a.type_id, gone_at = null,
    threshold = case when r.state = :runner_created then runner_type_after(v_now, a.type_id, p_times, 'register_ms')
      else r.threshold end
  from pairs p join answer a on a.ord = p.ord
  where r.id = p.id and r.type_id is null;

  update runner_batch b set next_try_at = null, reason = p_missing where b.id = p_batch;
  v_left := array(select r.id from runner r where r.batch_id = p_batch and r.state = :runner_created
    and r.provider_id is null order by r.id);
  if cardinality(v_left) > 0 then
    perform runner_end(v_left, coalesce(p_missing, 'its provider did not start it'), v_now, p_times);
  end if;
  v_heard := array(select r.id from runner r join runner_heartbeat l on l.runner_id = r.id
    where r.batch_id = p_batch and r.state = :runner_created and r.type_id is not null order by r.id);
  if cardinality(v_heard) > 0 then perform runner_arrive(v_heard, v_now, p_times); end if;
end $$;

-- Records a failed launch: retries the same batch at p_retry_at, or ends its runners if that is null.
create or replace function runner_launch_failed(p_batch uuid, p_reason text, p_retry_at timestamptz, p_now timestamptz,
  p_times jsonb)
returns void language plpgsql as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_shape integer;
  v_left uuid[];
begin
  select b.shape_id into v_shape from runner_batch b where b.id = p_batch and b.next_try_at is not null for update;
  if not found then return; end if;
  update runner_batch b set next_try_at = p_retry_at, reason = p_reason where b.id = p_batch;
  perform runner_note_launch(v_shape, p_reason);
  if p_retry_at is not null then return; end if;
  v_left := array(select r.id from runner r where r.batch_id = p_batch and r.state = :runner_created
    and r.provider_id is null
    order by r.id for update);
  if cardinality(v_left) > 0 then perform runner_end(v_left, p_reason, v_now, p_times); end if;
end $$;
