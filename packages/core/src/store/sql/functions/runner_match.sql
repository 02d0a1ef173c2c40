-- Matches idle runners with requests. A runner can be claimed if it is idle, has not expired, is not drained and has a
-- recent heartbeat. Runners locked by other transactions are skipped and tried again. Where rows are selected by ID,
-- `state + 0` keeps the planner from reading a whole partial index.

-- Locks idle runners of these types, most recently used first: p_count, or fewer if others are locked. p_slack: how
-- many more are considered. o_seen: number of candidates, at most p_count + p_slack.
create or replace function runner_pick(p_types integer[], p_count integer, p_slack integer, p_now timestamptz,
  p_fresh timestamptz, out o_ids uuid[], out o_seen integer)
language plpgsql as $$
begin
  with heads as materialized (
    select c.id, c.state_since
    from unnest(p_types) t(id) cross join lateral (
      select r.id, r.state_since from runner r
      where r.type_id = t.id and r.state = :runner_idle and r.threshold > p_now and not r.draining
        and exists (select 1 from runner_heartbeat p where p.runner_id = r.id and p.seen_at > p_fresh)
      order by r.state_since desc limit p_count + p_slack) c
    order by c.state_since desc, c.id limit p_count + p_slack
  ), locked as (
    select r.id from heads h join runner r on r.id = h.id
    where r.state + 0 = :runner_idle and r.threshold > p_now and not r.draining
    order by h.state_since desc, h.id limit p_count
    for no key update of r skip locked
  )
  select (select array_agg(l.id) from locked l), (select count(*) from heads) into o_ids, o_seen;
end $$;

create or replace function runner_grants_so_far()
returns bigint language sql volatile as $$
  select case when g.is_called then g.last_value else 0 end from runner_grant_count g
$$;

-- The first request that waits for capacity and was overtaken too often.
create or replace function runner_overtaken(p_now timestamptz)
returns table (id uuid, rank bigint) language sql stable as $$
  select q.id, q.rank from runner_request q
  where q.state = :request_waiting and q.room_until is not null and q.room_until > p_now
    and (q.expires_at is null or q.expires_at > p_now) and q.room_from <= runner_grants_so_far()
  order by q.rank, q.id limit 1
$$;

-- Returns those of these types that a request at this position must not get: an earlier gang is past its patience, or
-- an earlier request that waits for capacity must not be overtaken any more. p_others: gangs that are handled
-- elsewhere.
create or replace function runner_barriers(p_types integer[], p_others uuid[], p_now timestamptz, p_times jsonb,
  out o_types integer[], out o_ranks bigint[], out o_ids uuid[])
language sql as $$
  select array_agg(b.type_id), array_agg(b.rank), array_agg(b.id) from (
    select distinct on (a.type_id) a.type_id, a.rank, a.id from (
      select f.type_id, q.rank, q.id
      from runner_request q join runner_fit f on f.shape_id = q.shape_id and f.type_id = any(p_types)
      where q.state = :request_waiting and q.count > 1 and q.count - q.kept > 1 and q.id <> all(p_others)
        and q.created_at <= p_now - (p_times ->> 'reserve_after_ms')::double precision * interval '1 millisecond'
        and (q.expires_at is null or q.expires_at > p_now)
      union all
      select u.t, w.rank, w.id from runner_overtaken(p_now) w, unnest(p_types) u(t)) a
    order by a.type_id, a.rank, a.id) b
$$;

-- Claims idle runners for at most p_limit of the locked waiting requests, given in queue order. o_open: requests that
-- might have been served if other transactions had not locked their candidates.
create or replace function runner_match(p_requests uuid[], p_limit integer, p_now timestamptz, p_times jsonb,
  out o_requests uuid[], out o_runners uuid[], out o_open uuid[])
language plpgsql as $$
declare
  v_fresh timestamptz := p_now - (p_times ->> 'heartbeat_max_age_ms')::double precision * interval '1 millisecond';
  v_count integer;
  v_rank bigint;
  v_types integer[];
  v_barred integer[];
  v_pick record;
  v_slack integer;
begin
  o_requests := '{}';
  o_runners := '{}';
  o_open := '{}';
  if cardinality(p_requests) = 1 then
    select q.count - q.kept, q.rank, array(select f.type_id from runner_fit f where f.shape_id = q.shape_id)
    into v_count, v_rank, v_types from runner_request q where q.id = p_requests[1];
    select array_agg(b.type_id) into v_barred
    from runner_barriers(v_types, p_requests, p_now, p_times) g, unnest(g.o_types, g.o_ranks, g.o_ids) b(type_id, rank, id)
    where (b.rank, b.id) < (v_rank, p_requests[1]);
    if v_barred is not null then v_types := array(select u.t from unnest(v_types) u(t) where u.t <> all(v_barred)); end if;
    if cardinality(v_types) = 0 then return; end if;
    -- Most claims find a runner among the first few; the others search further.
    foreach v_slack in array '{8, 32, 256, 1024, 1024}'::integer[] loop
      v_pick := runner_pick(v_types, v_count, v_slack, p_now, v_fresh);
      exit when v_pick.o_seen < v_count or cardinality(v_pick.o_ids) = v_count;
    end loop;
    if cardinality(v_pick.o_ids) = v_count then
      o_requests := array_fill(p_requests[1], array[v_count]);
      o_runners := v_pick.o_ids;
    elsif v_pick.o_seen >= v_count then
      o_open := p_requests;
    end if;
  else
    select m.o_requests, m.o_runners, m.o_open into o_requests, o_runners, o_open
    from runner_match_many(p_requests, p_limit, p_now, v_fresh, p_times) m;
  end if;
  if cardinality(o_runners) > 0 then perform runner_grants(o_requests, o_runners, p_now, p_times); end if;
end $$;

-- Grants locked idle runners to the first waiting requests; returns the granted runners.
create or replace function runner_hand_over(p_ids uuid[], p_now timestamptz, p_times jsonb)
returns uuid[] language plpgsql as $$
declare
  v_heads uuid[];
  v_gangs boolean;
  v_given uuid[];
begin
  select array_agg(h.id order by h.rank, h.id), bool_or(h.lacking > 1) into v_heads, v_gangs
  from runner_heads(p_ids, p_now) h;
  if v_heads is null then return '{}'; end if;
  if v_gangs and not pg_try_advisory_xact_lock(7301, 1) then
    v_heads := array(select q.id from runner_request q where q.id = any(v_heads) and q.count - q.kept = 1 order by q.rank, q.id);
  end if;
  v_heads := array(
    select q.id from runner_request q where q.id = any(v_heads) and q.state + 0 = :request_waiting
    order by q.rank, q.id limit case when v_gangs then null else cardinality(p_ids) end
    for update skip locked);
  if cardinality(v_heads) > 0 then
    select array(select u.id from unnest(p_ids) u(id) join unnest(m.o_runners) o(id) on o.id = u.id) into v_given
    from runner_match(v_heads, cardinality(p_ids), p_now, p_times) m;
  end if;
  if coalesce(cardinality(v_given), 0) < cardinality(p_ids) then perform runner_tell_pool(p_times); end if;
  return coalesce(v_given, '{}');
end $$;

-- The first waiting requests that runners of these types fit.
create or replace function runner_heads(p_ids uuid[], p_now timestamptz)
returns table (id uuid, rank bigint, lacking integer) language sql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
  select h.id, h.rank, h.lacking
  from (
    select distinct f.shape_id from runner r join runner_fit f on f.type_id = r.type_id
    where r.id = any(p_ids) and r.state + 0 = :runner_idle) s
  cross join lateral (
    select q.id, q.rank, q.count - q.kept as lacking from runner_request q
    where q.shape_id = s.shape_id and q.state = :request_waiting and (q.expires_at is null or q.expires_at > p_now)
    order by q.rank, q.id limit cardinality(p_ids) + 16) h
  order by h.rank, h.id limit cardinality(p_ids) + 16
$$;
