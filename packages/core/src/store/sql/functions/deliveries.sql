-- Deliveries to webhook targets.
-- Locks: workflows by id, tasks by id, deliveries by id, then as settle.
-- Callers: store/deliveries.ts; conclude and claim (delivery_id). Functions without settings have those of
-- settle_deliveries.

-- The id of a delivery, sent as webhook-id: the same whenever the same delivery is written, also in a restored
-- database, so that receivers can recognize a repeat.
create or replace function delivery_id(p_task uuid, p_attempt integer, p_trigger text, p_ordinal integer)
returns uuid language sql immutable strict parallel safe as $$
  select substr(encode(sha256(convert_to(p_task || '/' || p_attempt || '/' || p_trigger || '/' || p_ordinal, 'UTF8')),
    'hex'), 1, 32)::uuid
$$;

-- Claims due deliveries for one try each: at most p_per_origin per origin, oldest first, none of a saturated origin.
-- The claim lasts until the lease expires; deliveries of a dead process are then retried.
create or replace function claim_deliveries(p_holder text, p_limit integer, p_per_origin integer, p_saturated text[],
  p_lease_ms integer, p_now timestamptz)
returns setof delivery language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[];
begin
  with recursive origins(origin, n) as (
    (select d.origin, 1 from delivery d where d.state = 'due' order by d.origin limit 1)
    union all
    select (select d.origin from delivery d where d.state = 'due' and d.origin > o.origin order by d.origin limit 1), o.n + 1
    from origins o where o.origin is not null and o.n < 10000
  )
  select array_agg(p.id) into v_ids from (
    select x.id from origins o
    cross join lateral (
      select d.id, d.next_try_at from delivery d
      where d.state = 'due' and d.origin = o.origin and d.next_try_at <= v_now
      order by d.next_try_at, d.id limit p_per_origin for update skip locked) x
    where o.origin is not null and o.origin <> all(p_saturated)
    order by x.next_try_at, x.id limit p_limit) p;
  return query
  update delivery d set tries = d.tries + 1, holder = p_holder, first_try_at = coalesce(d.first_try_at, v_now),
    next_try_at = v_now + p_lease_ms * interval '1 millisecond'
  where d.id = any(v_ids) and d.state = 'due'
  returning d.*;
end $$;

-- Applies the results of tries: [{id, tries, outcome, status, error, delay_ms, cancel_action}].
-- An acknowledged start makes its task running, an abandoned one fails it; either way the end deliveries of the task
-- need not wait any longer. An acknowledged cancel frees what its attempt holds. A result of a try that another process
-- took over is ignored.
create or replace function settle_deliveries(p_results jsonb, p_jitter double precision, p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_started uuid[];
  v_failed uuid[];
  v_attempts integer[];
  v_reasons text[];
  v_traced json;
  v_settled json;
  v_over uuid[];
  v_cancel uuid[];
  v_begun json;
  v_workflows json;
  v_conflicts integer;
  v_unstarted uuid[];
  v_stopped uuid[];
  v_lanes integer[] := '{}';
begin
  perform lock_results(p_results);
  v_conflicts := (select count(*) from jsonb_to_recordset(p_results) as r(id uuid, tries integer)
    join delivery d on d.id = r.id where d.state <> 'due' or d.tries <> r.tries);
  -- Starts whose attempt has ended are not retried.
  v_over := array(
    select d.id from jsonb_to_recordset(p_results) as r(id uuid, tries integer, outcome text)
    join delivery d on d.id = r.id left join task t on t.id = d.task_id
    where d.trigger = 'start' and r.outcome <> 'delivered' and d.state = 'due' and d.tries = r.tries
      and not coalesce(t.attempt = d.attempt
        and (t.state + 0 = :claimed or (t.state = :paused and t.paused_from = :claimed)), false));

  -- A canceled attempt releases its slots if its start was not acknowledged: no worker runs it.
  v_unstarted := array(
    select d.task_id from jsonb_to_recordset(p_results) as r(id uuid, tries integer, outcome text)
    join delivery d on d.id = r.id join task t on t.id = d.task_id
    where d.trigger = 'start' and r.outcome <> 'delivered' and d.state = 'due' and d.tries = r.tries
      and t.attempt = d.attempt and t.state + 0 = :canceled and t.started_at is null);

  select array_agg(d.task_id) filter (where r.outcome = 'delivered'),
    array_agg(d.task_id) filter (where r.outcome = 'dead' and d.id <> all(v_over)),
    array_agg(d.attempt) filter (where r.outcome = 'dead' and d.id <> all(v_over)),
    array_agg('its start webhook was abandoned after ' || d.tries || case d.tries when 1 then ' try: ' else ' tries: ' end
      || coalesce(r.error, 'no answer')) filter (where r.outcome = 'dead' and d.id <> all(v_over))
  into v_started, v_failed, v_attempts, v_reasons
  from jsonb_to_recordset(p_results) as r(id uuid, tries integer, outcome text, error text)
  join delivery d on d.id = r.id
  where d.trigger = 'start' and d.state = 'due' and d.tries = r.tries;

  v_cancel := note_cancel_actions(p_results);
  select b.o_waits, b.o_workflows into v_begun, v_workflows from begin_delivered(p_results, v_now) b;
  perform check_leases_sooner(v_started);

  perform record_tries(p_results, v_over, v_now);
  -- It also releases them if its target confirmed every cancel action.
  v_stopped := v_unstarted || tasks_with_confirmed_cancel(p_results);
  if cardinality(v_stopped) > 0 then
    v_lanes := release_canceled(v_stopped, array_fill(:result_conflict::smallint, array[cardinality(v_stopped)]));
  end if;
  if v_failed is not null then
    v_traced := (select json_agg(a) from traced_attempts(v_failed, v_now) a);
    v_settled := settle(reports_of(v_failed, v_attempts, :failed, v_reasons), false, p_jitter, v_now);
  end if;
  if v_cancel is not null then
    update task set has_spec = true, has_actions = true where id = any(v_cancel) and not has_actions;
    perform write_end_deliveries(array(select t.id from task t where t.id = any(v_cancel) and t.state = :canceled), v_now);
  end if;
  perform release_held(array(
    select d.task_id from jsonb_to_recordset(p_results) as r(id uuid) join delivery d on d.id = r.id
    where d.trigger = 'start' and d.state in ('delivered', 'dead')), v_now);
  return json_build_object('begun', v_begun, 'settled', v_settled, 'attempts', traced_ends(v_traced, v_failed, v_settled),
    'workflows', v_workflows, 'lanes', v_lanes, 'conflicts', v_conflicts, 'skipped', cardinality(v_over),
    'deliveries', (select count(*) from jsonb_to_recordset(p_results) as r(id uuid)));
end $$;

-- Locks what these results concern: the workflows and tasks of start and cancel deliveries, then all deliveries.
create or replace function lock_results(p_results jsonb)
returns void language plpgsql as $$
begin
  perform lock_workflows(array(
    select d.task_id from jsonb_to_recordset(p_results) as r(id uuid, outcome text) join delivery d on d.id = r.id
    where d.trigger in ('start', 'cancel')));
  perform 1 from task t where t.id in (
    select d.task_id from jsonb_to_recordset(p_results) as r(id uuid) join delivery d on d.id = r.id
    where d.trigger in ('start', 'cancel'))
  order by t.id for no key update;
  perform 1 from delivery d where d.id in (select r.id from jsonb_to_recordset(p_results) as r(id uuid))
  order by d.id for update;
end $$;

-- Stores the cancel actions that answers to start deliveries named; returns their tasks.
create or replace function note_cancel_actions(p_results jsonb)
returns uuid[] language plpgsql as $$
declare
  v_tasks uuid[];
begin
  with answered as (
    select d.task_id, d.attempt, r.cancel_action from jsonb_to_recordset(p_results) as r(id uuid, tries integer, cancel_action jsonb)
    join delivery d on d.id = r.id
    where r.cancel_action is not null and d.trigger = 'start' and d.state = 'due' and d.tries = r.tries
  ), noted as (
    insert into task_spec as sp (task_id, actions) select a.task_id, jsonb_build_array(a.cancel_action) from answered a
    on conflict (task_id) do update set actions = (
      select coalesce(jsonb_agg(x.value), '[]') from jsonb_array_elements(coalesce(sp.actions, '[]')) x
      where x.value ->> 'trigger' <> 'cancel') || excluded.actions
    returning task_id
  )
  select array_agg(task_id) into v_tasks from noted;
  return v_tasks;
end $$;

-- Attempts whose start was acknowledged run. Returns how long their tasks waited, [{kind, waits_ms}], and some of
-- their workflows.
create or replace function begin_delivered(p_results jsonb, p_now timestamptz, out o_waits json, out o_workflows json)
language plpgsql as $$
begin
  with begun as (
    update task t set
      state = case when t.state = :claimed then :running else t.state end,
      paused_from = case when t.state = :paused then :running else t.paused_from end,
      started_at = p_now, updated_at = p_now,
      deadline_at = case when t.state = :paused then t.paused_at else p_now end + t.timeout_secs * interval '1 second'
    from (select d.task_id, d.attempt from jsonb_to_recordset(p_results) as r(id uuid, tries integer, outcome text)
          join delivery d on d.id = r.id
          where d.trigger = 'start' and r.outcome = 'delivered' and d.state = 'due' and d.tries = r.tries) s
    where t.id = s.task_id and t.attempt = s.attempt
      and ((t.state + 0) = :claimed or (t.state = :paused and t.paused_from = :claimed))
    returning t.kind_id, t.workflow_id, coalesce(t.run_at, t.created_at) as since
  )
  select (select json_agg(json_build_object('kind', g.kind_id, 'waits_ms', g.waits)) from (
      select b.kind_id, json_agg((extract(epoch from p_now - b.since) * 1000)::bigint) as waits
      from begun b group by b.kind_id) g),
    (select json_agg(w.workflow_id) from (select distinct b.workflow_id from begun b limit 17) w)
  into o_waits, o_workflows;
end $$;

-- Records the tries of deliveries. p_over: starts that are not retried.
create or replace function record_tries(p_results jsonb, p_over uuid[], p_now timestamptz)
returns void language plpgsql as $$
begin
  update delivery d set
    state = case when d.id = any(p_over) then 'dead' when r.outcome = 'retry' then 'due' else r.outcome end,
    next_try_at = case when r.outcome = 'retry' and d.id <> all(p_over) then p_now + coalesce(r.delay_ms, 0) * interval '1 millisecond' end,
    last_status = r.status,
    last_error = case when d.id = any(p_over) then 'not retried, the attempt has ended: ' || coalesce(r.error, '') else r.error end,
    holder = null, delivered_at = case when r.outcome = 'delivered' then p_now end
  from jsonb_to_recordset(p_results) as r(id uuid, tries integer, outcome text, status integer, error text, delay_ms bigint)
  where d.id = r.id and d.state = 'due' and d.tries = r.tries;
end $$;

-- Returns the canceled tasks whose targets confirmed every cancel action: they have stopped.
create or replace function tasks_with_confirmed_cancel(p_results jsonb)
returns uuid[] language plpgsql as $$
begin
  return array(
    select distinct d.task_id from jsonb_to_recordset(p_results) as r(id uuid, outcome text)
    join delivery d on d.id = r.id join task t on t.id = d.task_id
    where d.trigger = 'cancel' and r.outcome = 'delivered' and d.state = 'delivered'
      and t.starts_by_webhook and t.attempt = d.attempt and t.state + 0 = :canceled
      and not exists (select 1 from delivery o
        where o.task_id = d.task_id and o.attempt = d.attempt and o.trigger = 'cancel' and o.state <> 'delivered'));
end $$;

-- Deliveries that waited for a start delivery which has ended become due.
create or replace function release_held(p_tasks uuid[], p_now timestamptz)
returns integer language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_released integer;
begin
  update delivery d set state = 'due', next_try_at = p_now
  where d.task_id = any(p_tasks) and d.state = 'held' and not exists (
    select 1 from delivery s
    where s.task_id = d.task_id and s.attempt = d.attempt and s.trigger = 'start' and s.state = 'due');
  get diagnostics v_released = row_count;
  return v_released;
end $$;
