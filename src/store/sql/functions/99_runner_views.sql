-- What the pool looks like, and what is forgotten of it.

-- How the classes stand: by the type of a runner, or by what it is launched for as long as it has none.
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
        count(*) filter (where n.state = 0) as created, count(*) filter (where n.state = 1) as idle,
        count(*) filter (where n.state = 2) as claimed, count(*) filter (where n.state = 3) as running
      from runner n where n.state < 4 group by 1, 2) r
    left join runner_type y on y.id = r.type_id left join runner_shape s on s.id = r.shape_id
    union all
    select s.resource_class, s.usage_class, 0, 0, 0, 0, q.wanted
    from (select w.shape_id, sum(w.count) as wanted from runner_request w where w.state = 0 group by 1) q
    join runner_shape s on s.id = q.shape_id) k
  group by 1, 2 order by 1, 2
$$;

-- Notes how the classes stand in this minute, once.
create or replace function runner_take_sample(p_now timestamptz)
returns void language plpgsql as $$
declare
  v_at timestamptz := date_trunc('minute', coalesce(p_now, clock_timestamp()));
begin
  if exists (select 1 from runner_sample s where s.at = v_at) then return; end if;
  insert into runner_sample (at, resource_class, usage_class, created, idle, claimed, running, waiting)
  select v_at, c.* from runner_census() c on conflict do nothing;
end $$;

-- Removes what ended before a moment, at most p_limit rows of each sort; returns how many.
create or replace function runner_forget(p_before timestamptz, p_limit integer)
returns integer language plpgsql set enable_seqscan = off as $$
declare
  v_ids uuid[];
  v_forgotten integer := 0;
  v_count integer;
begin
  perform runner_bring_back_strays(p_limit);
  with gone as (
    delete from runner r where r.id = any(array(select d.id from runner d where d.state = 4 and d.state_since < p_before
      order by d.state_since limit p_limit for update skip locked))
    returning r.id
  )
  select array_agg(g.id) into v_ids from gone g;
  delete from runner_pulse l where l.runner_id = any(v_ids);
  v_forgotten := coalesce(cardinality(v_ids), 0);
  delete from runner_request q where q.id = any(array(select d.id from runner_request d where d.state = 2 and d.ended_at < p_before
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
  return v_forgotten + v_count;
end $$;
