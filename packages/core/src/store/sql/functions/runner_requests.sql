-- Lifecycle of requests for runners. Uses the settings of claim.sql for the same reason.

-- Inserts new requests with ranks that are fair between tenants: the rank of a request is its number of runners plus
-- the higher of the last rank of its tenant and the lowest waiting rank. Ended requests of a task that needs the same
-- attempt again wait again. Returns how many; -1, without any change, if one of the shapes was deleted.
create or replace function runner_ask(p_requests new_requests, p_now timestamptz, p_times jsonb)
returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz;
  v_base bigint;
  v_asked uuid[];
  v_tenants text[] := array(select distinct u.t from unnest(p_requests.tenants) u(t));
  v_locked integer;
begin
  -- Prevents the deletion of shapes until this transaction ends.
  perform pg_advisory_xact_lock_shared(7302, 2);
  if exists (select 1 from unnest(p_requests.shapes) u(id) where not exists (select 1 from runner_shape s where s.id = u.id)) then
    return -1;
  end if;
  -- A tenant may be deleted between the two statements.
  loop
    insert into runner_tenant (tenant, rank)
    select u.t, 0 from unnest(v_tenants) u(t)
    where not exists (select 1 from runner_tenant t where t.tenant = u.t) order by u.t on conflict do nothing;
    perform 1 from runner_tenant t where t.tenant = any(v_tenants) order by t.tenant for update;
    get diagnostics v_locked = row_count;
    exit when v_locked = cardinality(v_tenants);
  end loop;
  v_now := coalesce(p_now, clock_timestamp());
  v_base := coalesce(
    (select q.rank from runner_request q where q.state = :request_waiting order by q.rank, q.id limit 1),
    (select t.rank from runner_tenant t order by t.rank desc limit 1), 0);
  with given as (
    select distinct on (u.id) u.*
    from unnest(p_requests.ids, p_requests.shapes, p_requests.tenants, p_requests.counts, p_requests.sources,
        p_requests.runs, p_requests.attempts, p_requests.expires) with ordinality
      u(id, shape_id, tenant, count, source, run, attempt, expires_at, ord)
    order by u.id, u.ord
  ), fresh as (
    select g.* from given g left join runner_request q on q.id = g.id
    where q.id is null or q.state = :request_ended and q.source = :source_task and exists (
      select 1 from task t
      join ready y on y.lane = any(array[:lane_runners, asked_lane()]) and y.rank = -t.priority and y.task_id = t.id
      where t.id = q.task_id and t.attempt + 1 = q.attempt)
  ), turned as (
    select f.*, greatest(t.rank, v_base) + sum(f.count) over (partition by f.tenant order by f.ord) as rank
    from fresh f join runner_tenant t on t.tenant = f.tenant
  ), stored as (
    insert into runner_request as q (id, shape_id, tenant, count, rank, state, source, run, task_id, attempt, created_at, expires_at)
    select t.id, t.shape_id, t.tenant, t.count, t.rank, :request_waiting, t.source, t.run,
      case when t.source = :source_task then t.run::uuid end, t.attempt, v_now, t.expires_at
    from turned t order by t.id
    on conflict (id) do update set state = :request_waiting, rank = excluded.rank, shape_id = excluded.shape_id,
      count = excluded.count,
      created_at = excluded.created_at, granted_at = null, ended_at = null, reason = null, exhaustion = null
    where q.state = :request_ended and q.source = :source_task
    returning q.id, q.tenant, q.rank
  ), last as (
    update runner_tenant t set rank = s.rank
    from (select s.tenant, max(s.rank) as rank from stored s group by s.tenant) s where t.tenant = s.tenant and t.rank < s.rank
  )
  select array_agg(s.id) into v_asked from stored s;
  if v_asked is null then return 0; end if;
  if :source_task = any(p_requests.sources) then perform runner_set_aside(v_asked); end if;
  perform runner_tell_pool(p_times);
  return cardinality(v_asked);
end $$;

-- Ends requests; returns their runners that became idle.
create or replace function runner_withdraw(p_ids uuid[], p_reason text, p_now timestamptz, p_times jsonb)
returns uuid[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[];
  v_runners uuid[];
begin
  v_ids := array(
    select l.id from (select q.id, q.state from runner_request q where q.id = any(p_ids) order by q.id for update) l
    where l.state < :request_ended);
  if cardinality(v_ids) = 0 then return '{}'; end if;
  v_runners := array(
    select r.id from runner r where r.request_id = any(v_ids) and r.request_id is not null
      and r.state in (:runner_claimed, :runner_running)
    order by r.id for update);
  update runner_request q set state = :request_ended, ended_at = v_now, reason = p_reason, kept = 0 where q.id = any(v_ids);
  perform runner_bring_back(v_ids);
  perform runner_tell_waiters(p_times);
  if cardinality(v_runners) > 0 then perform runner_arrive(v_runners, v_now, p_times); end if;
  return array(select r.id from runner r where r.id = any(v_runners) and r.state + 0 = :runner_idle);
end $$;

create or replace function runner_note_exhausted(p_ids uuid[], p_exhaustions smallint[])
returns void language sql as $$
  update runner_request q set exhaustion = u.exhaustion
  from (
    select l.id from runner_request l where l.id = any(p_ids) and l.state + 0 = :request_waiting
      order by l.id for update skip locked) l
  join unnest(p_ids, p_exhaustions) u(id, exhaustion) on u.id = l.id
  where q.id = l.id and q.exhaustion is distinct from u.exhaustion
$$;

-- The runners of a request, for its grant and for the agents.
create or replace function runner_peers(p_request uuid)
returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'number', r.number, 'epoch', r.epoch,
    'instance_type', t.instance_type, 'address', r.address) order by r.number), '[]')
  from runner r join runner_type t on t.id = r.type_id where r.request_id = p_request
$$;

-- Claims idle runners for waiting requests: the given ones, or all that some idle runner may fit. Returns a row for
-- each granted request, in queue order, and for each given request that still waits, with the reason: 0 none of the
-- class is idle, 1 too few fit, 2 candidates were locked by other transactions.
create or replace function runner_claim_idle(p_limit integer, p_ids uuid[], p_now timestamptz, p_times jsonb)
returns table (request_id uuid, runners jsonb, exhaustion smallint) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_heads uuid[];
  v_granted uuid[];
  v_runners uuid[];
  v_open uuid[];
  v_gangs boolean;
begin
  if p_ids is not null then
    select array_agg(h.id), bool_or(h.lacking > 1) into v_heads, v_gangs
    from (
      select q.id, q.count - q.kept as lacking from runner_request q
      where q.id = any(p_ids) and q.state + 0 = :request_waiting and (q.expires_at is null or q.expires_at > v_now)
      order by q.rank, q.id) h;
  else
    select array_agg(h.id), bool_or(h.lacking > 1) into v_heads, v_gangs
    from runner_servable(p_limit + 64, v_now) h;
  end if;
  if v_heads is null then return; end if;
  -- Gangs claim one after the other; otherwise each could hold runners that the other lacks.
  if v_gangs then perform pg_advisory_xact_lock(7301, 1); end if;
  if p_ids is not null then
    perform 1 from runner_request q where q.id = any(v_heads) and q.state + 0 = :request_waiting order by q.id for update;
    if not found then return; end if;
    if cardinality(v_heads) > 1 then
      v_heads := array(select q.id from runner_request q where q.id = any(v_heads) and q.state + 0 = :request_waiting
        order by q.rank, q.id);
    end if;
  else
    v_heads := array(
      select q.id from runner_request q where q.id = any(v_heads) and q.state + 0 = :request_waiting
        order by q.rank, q.id for update skip locked);
  end if;
  if cardinality(v_heads) = 0 then return; end if;
  select m.o_requests, m.o_runners, m.o_open into v_granted, v_runners, v_open
  from runner_match(v_heads, p_limit, coalesce(p_now, clock_timestamp()), p_times) m;
  return query
    select g.id, g.runners, null::smallint
    from (
      select r.request_id as id, jsonb_agg(jsonb_build_object('id', r.id, 'number', r.number, 'epoch', r.epoch,
        'instance_type', t.instance_type, 'address', r.address) order by r.number) as runners
      from (select distinct n.id from unnest(v_granted) n(id)) n join runner r on r.request_id = n.id
      join runner_type t on t.id = r.type_id group by r.request_id) g
    join unnest(v_heads) with ordinality h(id, ord) on h.id = g.id order by h.ord;
  if p_ids is not null and (select count(distinct g.id) from unnest(v_granted) g(id)) < cardinality(v_heads) then
    return query
      select u.id, null::jsonb, case when u.id = any(v_open) then :exhausted_uncertain else :exhausted_local - (not exists (
          select 1 from runner_shape s join runner_type t on t.resource_class = s.resource_class
          join runner r on r.type_id = t.id and r.state = :runner_idle where s.id = q.shape_id
            and r.threshold > v_now))::integer
        end::smallint
      from unnest(v_heads) with ordinality u(id, ord) join runner_request q on q.id = u.id
      where u.id <> all(v_granted) order by u.ord;
  end if;
end $$;

-- Waiting requests that an idle runner fits, in queue order, so that requests that cannot be served do not block
-- others.
create or replace function runner_servable(p_limit integer, p_now timestamptz)
returns table (id uuid, lacking integer) language sql as $$
  select h.id, h.lacking
  from (
    select distinct f.shape_id from runner_type t join runner_fit f on f.type_id = t.id
    where exists (select 1 from runner r where r.type_id = t.id and r.state = :runner_idle)) s
  cross join lateral (
    select q.id, q.rank, q.count - q.kept as lacking from runner_request q
    where q.shape_id = s.shape_id and q.state = :request_waiting and (q.expires_at is null or q.expires_at > p_now)
    order by q.rank, q.id limit p_limit) h
  order by h.rank, h.id limit p_limit
$$;

-- Claims specific runners, all or none: as many as the request lacks, the first of the given ones that can be claimed.
-- Returns an answer for each: claimed; gone, it is not idle or does not fit; silent; barred, it is reserved for an
-- earlier request; settled, it was not needed.
create or replace function runner_claim(p_request uuid, p_ids uuid[], p_now timestamptz, p_times jsonb)
returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_fresh timestamptz := v_now - (p_times ->> 'heartbeat_max_age_ms')::double precision * interval '1 millisecond';
  v_request runner_request;
  v_barred integer[];
  v_answers text[];
  v_taken uuid[];
begin
  select * into v_request from runner_request q where q.id = p_request for update;
  if v_request.id is null or v_request.state <> :request_waiting or v_request.expires_at <= v_now then
    v_answers := array(
      select case when r.id is null then 'settled' else 'claimed' end
      from unnest(p_ids) with ordinality u(id, ord) left join runner r on r.id = u.id and r.request_id = p_request
        and r.state + 0 in (:runner_claimed, :runner_running)
      order by u.ord);
    return jsonb_build_object('answers', v_answers,
      'runners', case when 'claimed' = any(v_answers) then runner_peers(p_request) end);
  end if;
  perform 1 from runner r where r.id = any(p_ids) order by r.id for no key update;
  select coalesce(array_agg(b.type_id), '{}') into v_barred
  from runner_barriers(array(select distinct r.type_id from runner r where r.id = any(p_ids)), array[p_request], v_now, p_times) g,
    unnest(g.o_types, g.o_ranks, g.o_ids) b(type_id, rank, id)
  where (b.rank, b.id) < (v_request.rank, p_request);
  v_answers := array(
    select case
      when r.id is null or r.state <> :runner_idle or r.threshold <= v_now or r.draining or f.type_id is null then 'gone'
      when p.seen_at is null or p.seen_at <= v_fresh then 'silent'
      when r.type_id = any(v_barred) then 'barred'
      else 'settled' end
    from unnest(p_ids) with ordinality u(id, ord)
    left join runner r on r.id = u.id
    left join runner_fit f on f.shape_id = v_request.shape_id and f.type_id = r.type_id
    left join runner_heartbeat p on p.runner_id = r.id
    order by u.ord);
  v_taken := array(
    select s.id from (
      select u.id, min(u.ord) as ord from unnest(p_ids, v_answers) with ordinality u(id, answer, ord)
      where u.answer = 'settled' group by u.id) s
    order by s.ord limit v_request.count - v_request.kept);
  if cardinality(v_taken) < v_request.count - v_request.kept then return jsonb_build_object('answers', v_answers, 'runners', null); end if;
  perform runner_grant(p_request, v_taken, v_now, p_times);
  v_answers := array(
    select case when u.id = any(v_taken) then 'claimed' else u.answer end
    from unnest(p_ids, v_answers) with ordinality u(id, answer, ord) order by u.ord);
  return jsonb_build_object('answers', v_answers, 'runners', runner_peers(p_request));
end $$;
