-- Status and history of the pool, and deletion of old rows.

-- Counts by class: of the type of a runner, or of the shape that it is launched for if it has no type yet.
create or replace function runner_census()
returns table (resource_class text, usage_class smallint, created integer, idle integer, claimed integer, running integer,
  waiting integer)
language sql stable as $$
  select k.resource_class, k.usage_class, sum(k.created)::integer, sum(k.idle)::integer, sum(k.claimed)::integer,
    sum(k.running)::integer, sum(k.waiting)::integer
  from (
    select coalesce(y.resource_class, s.resource_class) as resource_class, coalesce(y.usage_class, s.usage_class) as usage_class,
      r.created, r.idle, r.claimed, r.running, 0 as waiting
    from (
      select n.type_id, case when n.type_id is null then n.shape_id end as shape_id,
        count(*) filter (where n.state = :runner_created) as created,
          count(*) filter (where n.state = :runner_idle) as idle,
        count(*) filter (where n.state = :runner_claimed) as claimed,
          count(*) filter (where n.state = :runner_running) as running
      from runner n where n.state < :runner_terminated group by 1, 2) r
    left join runner_type y on y.id = r.type_id left join runner_shape s on s.id = r.shape_id
    union all
    select s.resource_class, s.usage_class, 0, 0, 0, 0, q.wanted
    from (select w.shape_id, sum(w.count - w.kept) as wanted from runner_request w
      where w.state = :request_waiting group by 1) q
    join runner_shape s on s.id = q.shape_id) k
  group by 1, 2 order by 1, 2
$$;

-- Records a sample of the classes, once per minute.
create or replace function runner_take_sample(p_now timestamptz)
returns void language plpgsql as $$
declare
  v_at timestamptz := date_trunc('minute', coalesce(p_now, clock_timestamp()));
begin
  if exists (select 1 from runner_sample s where s.at = v_at) then return; end if;
  insert into runner_sample (at, resource_class, usage_class, created, idle, claimed, running, waiting)
  select v_at, c.* from runner_census() c on conflict do nothing;
end $$;

-- Deletes runners, requests and batches that ended before a time, at most p_limit rows of each kind; returns how many.
create or replace function runner_forget(p_before timestamptz, p_limit integer)
returns integer language plpgsql set enable_seqscan = off as $$
declare
  v_ids uuid[];
  v_forgotten integer := 0;
  v_count integer;
begin
  perform runner_bring_back_strays(p_limit);
  with gone as (
    delete from runner r where r.id = any(array(select d.id from runner d where d.state = :runner_terminated
      and d.state_since < p_before
      order by d.state_since limit p_limit for update skip locked))
    returning r.id
  )
  select array_agg(g.id) into v_ids from gone g;
  delete from runner_heartbeat l where l.runner_id = any(v_ids);
  v_forgotten := coalesce(cardinality(v_ids), 0);
  delete from runner_request q where q.id = any(array(select d.id from runner_request d where d.state = :request_ended
    and d.ended_at < p_before
    order by d.ended_at limit p_limit for update skip locked));
  get diagnostics v_count = row_count;
  v_forgotten := v_forgotten + v_count;
  delete from runner_batch b where b.id = any(array(
    select d.id from runner_batch d where d.next_try_at is null and d.planned_at < p_before
      and not exists (select 1 from runner r where r.batch_id = d.id)
    order by d.planned_at limit p_limit for update skip locked));
  get diagnostics v_count = row_count;
  v_forgotten := v_forgotten + v_count;
  delete from runner_sample s where s.ctid = any(array(
    select d.ctid from runner_sample d where d.at < p_before order by d.at limit p_limit for update skip locked));
  get diagnostics v_count = row_count;
  v_forgotten := v_forgotten + v_count;
  delete from runner_budget g where g.provider = any(array(
    select b.provider from runner_budget b where b.refilled_at < p_before order by b.provider limit p_limit for update skip locked));
  return v_forgotten + v_count;
end $$;

-- Deletes unused tenants, shapes and types, at most p_limit of each, if there are more than p_keep: tenants whose rank
-- gives no disadvantage any more, shapes without requests, launches and runners, and types without runners. Returns how
-- many. Must run in its own transaction, since it waits for all transactions that insert requests.
create or replace function runner_forget_kinds(p_keep integer, p_limit integer)
returns integer language plpgsql as $$
declare
  v_ids integer[];
  v_tenants text[];
  v_base bigint;
  v_forgotten integer := 0;
begin
  v_base := coalesce(
    (select q.rank from runner_request q where q.state = :request_waiting order by q.rank, q.id limit 1),
    (select t.rank from runner_tenant t order by t.rank desc limit 1));
  v_tenants := array(
    select t.tenant from runner_tenant t where t.rank < v_base and t.rank < (select max(m.rank) from runner_tenant m)
    order by t.rank desc, t.tenant offset p_keep limit p_limit);
  if cardinality(v_tenants) > 0 then
    delete from runner_tenant t where t.tenant = any(array(
      select l.tenant from runner_tenant l where l.tenant = any(v_tenants) and l.rank < v_base order by l.tenant
      for update skip locked));
    get diagnostics v_forgotten = row_count;
  end if;
  if not exists (select 1 from runner_shape order by id offset p_keep)
     and not exists (select 1 from runner_type order by id offset p_keep) then
    return v_forgotten;
  end if;
  -- Locks in the same order as transactions that add shapes and types.
  perform pg_advisory_xact_lock(7302, 2);
  perform pg_advisory_xact_lock(7302, 1);
  if exists (select 1 from runner_shape order by id offset p_keep) then
    v_ids := array(
      select s.id from runner_shape s
      where not exists (select 1 from runner_request q where q.shape_id = s.id)
        and not exists (select 1 from runner r where r.shape_id = s.id)
        and not exists (select 1 from runner_batch b where b.shape_id = s.id)
      order by s.id limit p_limit);
    delete from runner_fit f where f.shape_id = any(v_ids);
    delete from runner_shape s where s.id = any(v_ids);
    v_forgotten := v_forgotten + cardinality(v_ids);
  end if;
  if exists (select 1 from runner_type order by id offset p_keep) then
    v_ids := array(
      select t.id from runner_type t where not exists (select 1 from runner r where r.type_id = t.id)
      order by t.id limit p_limit);
    delete from runner_fit f where f.type_id = any(v_ids);
    delete from runner_type t where t.id = any(v_ids);
    v_forgotten := v_forgotten + cardinality(v_ids);
  end if;
  return v_forgotten;
end $$;
