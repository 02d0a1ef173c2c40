-- Reconciliation of the table with the provider. Runners with a recent heartbeat are never ended here.

-- Assigns instances to runners without one, including ended ones, by their tags: the answers to their launches were
-- lost. p_states: 0 gone, 1 stopping, 2 present.
create or replace function runner_adopt(p_provider text, p_ids text[], p_runners uuid[], p_batches uuid[], p_states integer[])
returns void language plpgsql set enable_seqscan = off as $$
declare
  v_runners uuid[];
  v_instances text[];
begin
  with seen as (
    select u.* from unnest(p_ids, p_runners, p_batches, p_states) u(provider_id, runner_id, batch_id, state)
    where u.state > :instance_gone and (u.runner_id is not null or u.batch_id is not null)
      and not exists (select 1 from runner r where r.provider = p_provider and r.provider_id = u.provider_id)
  ), named as (
    select distinct on (r.id) r.id, s.provider_id from seen s join runner r on r.id = s.runner_id
    where r.provider = p_provider and r.provider_id is null order by r.id, s.provider_id
  ), nameless as (
    select s.batch_id, s.provider_id, row_number() over (partition by s.batch_id order by s.provider_id) as n
    from seen s where s.batch_id is not null and s.provider_id not in (select n.provider_id from named n)
      and not exists (select 1 from runner r where r.id = s.runner_id and r.provider_id is not null)
  ), spare as (
    select r.id, r.batch_id, row_number() over (partition by r.batch_id order by r.state, r.number) as n
    from runner r
    where r.batch_id in (select l.batch_id from nameless l) and r.provider = p_provider and r.provider_id is null
      and r.id not in (select n.id from named n)
  ), pairs as (
    select n.id, n.provider_id from named n
    union all select s.id, l.provider_id from nameless l join spare s on s.batch_id = l.batch_id and s.n = l.n
  )
  select array_agg(p.id), array_agg(p.provider_id) into v_runners, v_instances from pairs p;
  if v_runners is null then return; end if;
  update runner r set provider_id = u.provider_id, gone_at = null
  from unnest(v_runners, v_instances) u(id, provider_id)
  where r.id = u.id and r.provider_id is null
    and r.id = any(array(select l.id from runner l where l.id = any(v_runners) order by l.id for update skip locked));
exception when unique_violation then
  -- The launch was just recorded, or its agent just registered; the next listing handles the rest.
  return;
end $$;

-- Records when each unknown instance was first seen, and returns those that were seen recheck_ms before. An instance
-- without tags may belong to a launch that is being retried, so it gets as long as a launch may take.
create or replace function runner_find_orphans(p_provider text, p_ids text[], p_runners uuid[], p_batches uuid[],
  p_states integer[], p_now timestamptz, p_times jsonb)
returns text[] language plpgsql set enable_seqscan = off as $$
declare
  v_unknown text[];
  v_tagged boolean[];
begin
  select array_agg(u.provider_id order by u.provider_id),
    array_agg(u.runner_id is not null or u.batch_id is not null order by u.provider_id)
  into v_unknown, v_tagged
  from unnest(p_ids, p_runners, p_batches, p_states) u(provider_id, runner_id, batch_id, state)
  where u.state = :instance_present
    and not exists (select 1 from runner r where r.provider = p_provider and r.provider_id = u.provider_id);
  delete from runner_orphan o where o.provider = p_provider
    and not exists (select 1 from unnest(v_unknown) u(id) where u.id = o.provider_id);
  if v_unknown is null then return '{}'; end if;
  insert into runner_orphan (provider, provider_id, first_seen_at) select p_provider, u.id, p_now from unnest(v_unknown) u(id)
  on conflict do nothing;
  return array(
    select o.provider_id
    from unnest(v_unknown, v_tagged) u(id, tagged) join runner_orphan o on o.provider = p_provider and o.provider_id = u.id
    where after_ms(o.first_seen_at, p_times, 'recheck_ms') <= p_now
      and (u.tagged or after_ms(o.first_seen_at, p_times, 'created_ms') <= p_now or not exists (
        select 1 from runner_batch b where b.provider = p_provider and b.next_try_at is not null and b.tries > 0
          and b.planned_at <= o.first_seen_at))
    order by o.provider_id);
end $$;

-- Handles runners whose instance is missing: suspected at the first check, ended at a second one recheck_ms later unless
-- they sent a heartbeat since. Ends at most p_limit; returns how many ended.
create or replace function runner_end_vanished(p_provider text, p_there text[], p_limit integer, p_now timestamptz,
  p_times jsonb)
returns integer language plpgsql set enable_seqscan = off as $$
declare
  v_fresh timestamptz := p_now - (after_ms(p_now, p_times, 'heartbeat_max_age_ms') - p_now);
  v_second timestamptz := p_now - (after_ms(p_now, p_times, 'recheck_ms') - p_now);
  v_suspected uuid[];
  v_over uuid[];
  v_speaking uuid[];
begin
  with missing as (
    select r.id, r.suspected_at, coalesce(l.seen_at, '-infinity') as seen
    from runner r left join runner_heartbeat l on l.runner_id = r.id
    where r.state < :runner_terminated and r.provider = p_provider and r.provider_id is not null
      and not exists (select 1 from unnest(p_there) u(id) where u.id = r.provider_id)
  )
  select array_agg(m.id) filter (where m.suspected_at is null or m.seen >= m.suspected_at),
    (array_agg(m.id) filter (where m.suspected_at <= v_second and m.seen < m.suspected_at))[1:p_limit]
  into v_suspected, v_over from missing m where m.seen <= v_fresh;
  v_over := coalesce(v_over, '{}');
  if cardinality(v_over) > 0 then
    v_over := runner_lock_free(v_over);
    v_speaking := runner_speaking(v_over);
    v_over := array(
      select r.id from runner r left join runner_heartbeat l on l.runner_id = r.id
      where r.id = any(v_over) and r.id <> all(v_speaking) and r.suspected_at <= v_second
        and (l.seen_at is null or (l.seen_at < r.suspected_at and l.seen_at <= v_fresh))
      order by r.id);
  end if;
  if cardinality(v_over) > 0 then
    perform runner_end(v_over, 'vanished', p_now, p_times);
    update runner r set gone_at = p_now where r.id = any(v_over);
  end if;
  perform runner_suspect(v_suspected, p_now);
  return cardinality(v_over);
end $$;

-- Compares a complete listing with the table, one server at a time. Returns {orphans, vanished}.
create or replace function runner_reconcile(p_provider text, p_ids text[], p_runners uuid[], p_batches uuid[],
  p_states integer[], p_limit integer, p_now timestamptz, p_times jsonb)
returns json language plpgsql set enable_seqscan = off as $$
declare
  v_now timestamptz;
  v_there text[];
  v_orphans text[];
  v_vanished integer;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('heddle.runner_reconcile.' || p_provider, 0)) then
    return json_build_object('orphans', '{}'::text[], 'vanished', 0);
  end if;
  v_now := coalesce(p_now, clock_timestamp());
  v_there := array(select u.id from unnest(p_ids, p_states) u(id, state) where u.state > :instance_gone);
  perform runner_adopt(p_provider, p_ids, p_runners, p_batches, p_states);
  v_orphans := runner_find_orphans(p_provider, p_ids, p_runners, p_batches, p_states, v_now, p_times);

  v_vanished := runner_end_vanished(p_provider, v_there, p_limit, v_now, p_times);

  -- A listing may be stale: an instance that is listed again is neither missing nor gone.
  update runner r set suspected_at = null
  where r.id = any(array(select d.id from runner d
    where d.state = :runner_created and d.provider = p_provider and d.suspected_at is not null
      and exists (select 1 from unnest(v_there) u(id) where u.id = d.provider_id)
    order by d.id for update skip locked));
  update runner r set gone_at = null
  where r.id = any(array(select d.id from unnest(p_ids, p_states) u(provider_id, state)
    join runner d on d.provider = p_provider and d.provider_id = u.provider_id
    where u.state = :instance_present and d.state = :runner_terminated and d.gone_at is not null
      order by d.id for update of d skip locked));
  update runner r set gone_at = v_now
  where r.id = any(array(select d.id from runner d
    where d.provider = p_provider and d.state = :runner_terminated and d.gone_at is null and d.provider_id is not null
      and after_ms(d.state_since, p_times, 'recheck_ms') <= v_now
      and not exists (select 1 from unnest(v_there) u(id) where u.id = d.provider_id)
    order by d.state_since limit p_limit for update of d skip locked));
  return json_build_object('orphans', v_orphans, 'vanished', v_vanished);
end $$;
