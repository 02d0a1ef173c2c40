-- Settles a set of reports (distinct ids; a null attempt means the current one) in one transaction: the reports'
-- extras, the tasks' ends or next attempts, and everything that follows from them.
-- p_expire: only tasks whose deadline has passed end. p_workflows: where the caller knows them, the
-- workflows with dependencies that the tasks belong to; null: they are looked up.
-- p_extras: [{i: id, m: metadata patch, s: new successes, f: new failures, x: nodes that a generator announced, z: true
-- if the failure is permanent, k: [nodes after the task in its sequence that its success disables]}], applied to what
-- is accepted.
-- Returns {codes, states: a number for each report, or null where all were applied as asked; moved: [[kind, from, to,
-- [duration in ms]]]; cascaded: [[kind, count]]; propagations: [[state of the parent, count]]; lanes; deliveries;
-- unblocked; workflows}. Codes: 0 applied, 1 retrying, 2 unchanged, 3 conflict, 4 not started, 5 stale attempt, 6 not
-- found. Ids in ascending order are settled fastest: if the locked rows match the reports one by one, nothing has to
-- be joined.
create or replace function settle(p_ids uuid[], p_attempts integer[], p_states smallint[], p_reasons text[],
  p_extras jsonb, p_expire boolean, p_workflows uuid[], p_jitter double precision, p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_codes smallint[];
  v_states smallint[];
  v_ids uuid[];
  v_workflows uuid[];
  v_leases bigint[];
  v_to smallint[];
  v_reasons text[];
  v_linked boolean;
  v_spec boolean;
  v_actions boolean;
  v_holds boolean;
  v_moved json;
  v_lanes integer[];
  v_attempts integer[];
  v_kinds integer[];
  v_froms smallint[];
  v_started timestamptz[];
  v_open boolean;
  v_containers uuid[];
  v_in_trees boolean;
  v_expanding uuid[];
  v_final uuid[];
  v_branching boolean := false;
  v_branches record;
  v_settled json;
begin
  if p_workflows is null then perform lock_workflows(p_ids);
  elsif cardinality(p_workflows) > 0 then
    perform 1 from workflow where id = any(p_workflows) order by id for no key update;
  end if;
  if not p_expire and p_extras is null then
    select array_agg(l.id), array_agg(l.workflow_id), array_agg(l.lease_id), array_agg(l.attempt), array_agg(l.kind_id),
      array_agg(l.state), array_agg(l.started_at), bool_and(l.state in (:claimed, :running)), bool_or(l.linked),
        bool_or(l.has_spec),
      bool_or(l.has_actions), bool_or(l.holds), array_agg(l.container_id), bool_or(l.container_id is not null)
    into v_ids, v_workflows, v_leases, v_attempts, v_kinds, v_froms, v_started, v_open, v_linked, v_spec, v_actions, v_holds,
      v_containers, v_in_trees
    from (
      select t.id, t.workflow_id, t.kind_id, t.state, t.attempt, t.lease_id, t.linked, t.has_spec, t.has_actions,
        t.slots is not null as holds, t.started_at, t.container_id
      from task t where t.id = any(p_ids) order by t.id for no key update) l;
    if v_open and v_ids = p_ids and v_attempts = p_attempts then
      select json_agg(json_build_array(g.kind_id, g.state, g.target, g.durations)) into v_moved from (
        select m.kind_id, m.state, m.target,
          json_agg((date_part('epoch', v_now - m.started_at) * 1000)::bigint) filter (where m.started_at is not null)
            as durations
        from unnest(v_kinds, v_froms, p_states, v_started) m(kind_id, state, target, started_at)
        group by m.kind_id, m.state, m.target) g;
      return settle_accepted(v_ids, v_workflows, v_leases, p_states, p_reasons, v_linked, v_spec, v_actions, v_holds,
        p_jitter, v_now, null, null, v_moved, '{}', p_ids, case when v_in_trees then v_containers end);
    end if;
  end if;
  with locked as (
    select t.id, t.workflow_id, t.kind_id, t.state, t.paused_from, t.attempt, t.lease_id, t.linked, t.has_spec, t.has_actions,
      t.slots is not null as holds, t.started_at, t.deadline_at, t.container_id
    from task t where t.id = any(p_ids) order by t.id for no key update
  ), decided as (
    select r.ord, r.id, r.target, r.reason, l.workflow_id, l.kind_id, l.state, l.lease_id, l.linked, l.has_spec, l.has_actions,
      l.holds, l.container_id,
      l.started_at,
      case
        when l.id is null then :result_not_found
        when r.attempt <> l.attempt then :result_stale_attempt
        when l.state >= :terminal then case when l.state = r.target then :result_unchanged else :result_conflict end
        when l.state in (:waiting, :pending)
          or (l.state = :paused and l.paused_from in (:waiting, :pending)) then :result_not_started
        when not p_expire and (l.state = :expanding or l.paused_from = :expanding) then case
          when r.target = :succeeded then :result_unchanged else :result_conflict end
        when p_expire and (l.state = :paused or l.deadline_at is null or l.deadline_at > v_now) then :result_conflict
        else :result_applied
      end::smallint as code
    from unnest(p_ids, p_attempts, p_states, p_reasons) with ordinality r(id, attempt, target, reason, ord)
    left join locked l on l.id = r.id
  ), accepted as (
    select * from decided where code = :result_applied
  )
  select
    (select array_agg(d.code order by d.ord) from decided d
      where exists (select 1 from decided x where x.code <> :result_applied)),
    (select array_agg(d.state order by d.ord) from decided d
      where exists (select 1 from decided x where x.code <> :result_applied)),
    array_agg(a.id), array_agg(a.workflow_id), array_agg(a.lease_id), array_agg(a.target),
    nullif(array_agg(a.reason), array_fill(null::text, array[count(*)::integer])),
    bool_or(a.linked), bool_or(a.has_spec), bool_or(a.has_actions), bool_or(a.holds),
    array_agg(a.container_id), bool_or(a.container_id is not null),
    (select json_agg(json_build_array(g.kind_id, g.state, g.target, g.durations)) from (
      select m.kind_id, m.state, m.target,
        json_agg((date_part('epoch', v_now - m.started_at) * 1000)::bigint) filter (where m.started_at is not null)
          as durations
      from accepted m group by m.kind_id, m.state, m.target) g)
  into v_codes, v_states, v_ids, v_workflows, v_leases, v_to, v_reasons, v_linked, v_spec, v_actions, v_holds,
    v_containers, v_in_trees, v_moved
  from accepted a;

  if v_codes is not null then
    v_lanes := release_canceled(p_ids, v_codes);
  end if;
  if v_ids is null then
    return json_build_object('codes', v_codes, 'states', v_states, 'lanes', coalesce(v_lanes, '{}'), 'deliveries', 0,
      'unblocked', 0);
  end if;
  if p_extras is not null then
    v_lanes := coalesce(v_lanes, '{}') || apply_extras(v_ids, p_extras, v_now);
    v_final := array(select x.i from jsonb_to_recordset(p_extras) as x(i uuid, z boolean) where x.z);
    if v_in_trees and exists (select 1 from jsonb_to_recordset(p_extras) as x(x integer) where x.x is not null) then
      v_expanding := begin_expansion(v_ids, v_to, p_extras, v_now);
    end if;
  end if;
  if cardinality(v_expanding) > 0 then
    -- Their reports are accepted, but they have not ended.
    v_codes := coalesce(v_codes, array_fill(:result_applied::smallint, array[cardinality(p_ids)]));
    v_moved := (
      select json_agg(json_build_array(t.kind_id, :running, case when e.id is null then u.target else :expanding end,
        case when e.id is null then json_build_array((date_part('epoch', v_now - t.started_at) * 1000)::bigint) end, 1))
      from unnest(v_ids, v_to) u(id, target) join task t on t.id = u.id left join unnest(v_expanding) e(id) on e.id = u.id);
    select array_agg(u.id), array_agg(u.workflow_id), array_agg(u.lease_id), array_agg(u.target),
      nullif(array_agg(u.reason), array_fill(null::text, array[count(*)::integer])), array_agg(u.container_id)
    into v_ids, v_workflows, v_leases, v_to, v_reasons, v_containers
    from unnest(v_ids, v_workflows, v_leases, v_to, v_reasons, v_containers)
      u(id, workflow_id, lease_id, target, reason, container_id)
    where u.id <> all(v_expanding);
    if v_ids is null then
      return json_build_object('codes', v_codes, 'states', (
          select json_agg(t.state order by q.ord) from unnest(p_ids) with ordinality q(id, ord) left join task t on t.id = q.id),
        'moved', v_moved, 'lanes', coalesce(v_lanes, '{}'), 'deliveries', 0, 'unblocked', 0);
    end if;
  end if;
  if v_in_trees and p_extras is not null and exists (
    select 1 from jsonb_to_recordset(p_extras) as x(k jsonb) where x.k is not null) then
    v_branching := true;
    select * into v_branches from disable_branches(v_ids, v_to, p_extras, v_now);
    v_lanes := coalesce(v_lanes, '{}') || v_branches.lanes;
  end if;
  v_settled := settle_accepted(v_ids, v_workflows, v_leases, v_to, v_reasons, v_linked, v_spec, v_actions, v_holds, p_jitter,
    v_now, v_codes, v_states, v_moved, coalesce(v_lanes, '{}'), p_ids, case when v_in_trees then v_containers end, v_final);
  if not v_branching then return v_settled; end if;
  return (v_settled::jsonb || jsonb_build_object('ignored', v_branches.ignored,
    'unblocked', (v_settled ->> 'unblocked')::integer + v_branches.unblocked))::json;
end $$;

-- The second half of settle: the tasks are locked and their reports accepted. p_final: permanent failures, which are
-- not retried.
create or replace function settle_accepted(p_ids uuid[], p_workflows uuid[], p_leases bigint[], p_to smallint[],
  p_reasons text[], p_linked boolean, p_spec boolean, p_actions boolean, p_holds boolean,
  p_jitter double precision, p_now timestamptz,
  p_codes smallint[], p_states smallint[], p_moved json, p_lanes integer[], p_asked uuid[], p_containers uuid[],
  p_final uuid[] default null)
returns json language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_slots bigint[];
  v_amounts bigint[];
  v_retry uuid[];
  v_retry_at timestamptz[];
  v_ended uuid[] := p_ids;
  v_workflows uuid[] := p_workflows;
  v_lanes integer[] := p_lanes;
  v_codes smallint[] := p_codes;
  v_states smallint[] := p_states;
  v_moved json := p_moved;
  v_containers uuid[] := p_containers;
  v_after record;
begin
  if p_holds then
    select array_agg(h.slot), array_agg(slot_amount(h.slot, t.expected_count, t.success_count, t.failure_count))
    into v_slots, v_amounts
    from task t, unnest(t.slots) h(slot) where t.id = any(p_ids);
  end if;
  if p_spec and (:failed::smallint = any(p_to) or :timed_out::smallint = any(p_to)) then
    select array_agg(t.id), array_agg(p_now + retry_delay(sp.retry, t.attempt, t.id, p_jitter)) into v_retry, v_retry_at
    from unnest(p_ids, p_to) u(id, target) join task t on t.id = u.id join task_spec sp on sp.task_id = t.id
    where u.target in (:failed, :timed_out) and t.attempt < (sp.retry ->> 'max_attempts')::integer
      and (p_final is null or t.id <> all(p_final));
  end if;

  if v_retry is not null then
    -- Retried tasks have not ended; they are separated before their row changes.
    select json_agg(json_build_array(g.kind_id, g.state, g.target, g.durations)) into v_moved from (
      select m.kind_id, m.state, m.target,
        json_agg((date_part('epoch', p_now - m.started_at) * 1000)::bigint) filter (where m.started_at is not null)
          as durations
      from (
        select t.kind_id, t.state, t.started_at,
          case when r.id is null then u.target when t.state = :paused then :paused when t.open_gates > 0 then :waiting
            else :pending end as target
        from unnest(p_ids, p_to) u(id, target) join task t on t.id = u.id
        left join unnest(v_retry) r(id) on r.id = u.id) m
      group by m.kind_id, m.state, m.target) g;
    update task t set
      state = case when t.state = :paused then :paused when t.open_gates > 0 then :waiting else :pending end,
      paused_from = case when t.state = :paused then :pending end,
      run_at = r.run_at, updated_at = p_now, started_at = null, deadline_at = null, lease_id = null, slots = null,
      reason = r.reason
    from (select v.id, v.run_at, u.reason from unnest(v_retry, v_retry_at) v(id, run_at)
          join unnest(p_ids, p_reasons) u(id, reason) on u.id = v.id) r
    where t.id = r.id and (t.state + 0) in (:claimed, :running, :expanding, :paused);
    v_lanes := v_lanes || make_ready(array(select t.id from task t where t.id = any(v_retry)
      and (t.state + 0) = :pending), p_now);
    select coalesce(array_agg(u.id), '{}'), coalesce(array_agg(u.workflow_id), '{}') into v_ended, v_workflows
    from unnest(p_ids, p_workflows) u(id, workflow_id) where u.id <> all(v_retry);
    if p_containers is not null then
      select array_agg(u.container_id) into v_containers
      from unnest(p_ids, p_containers) u(id, container_id) where u.id <> all(v_retry);
    end if;
    -- From here on the answer cannot be "all applied as asked".
    v_codes := array(select coalesce(case
      when q.id = any(v_retry) then :result_retrying end, p_codes[q.ord], :result_applied)
      from unnest(p_asked) with ordinality q(id, ord) order by q.ord)::smallint[];
  end if;

  if v_retry is null and p_reasons is null and :succeeded = all(p_to) then
    update task t set state = :succeeded, ended_at = p_now, updated_at = p_now, reason = null, lease_id = null,
      slots = null,
      paused_at = null, paused_from = null
    where t.id = any(p_ids) and (t.state + 0) in (:claimed, :running, :expanding, :paused);
  else
    update task t set
      state = u.target, ended_at = p_now, updated_at = p_now,
      reason = coalesce(u.reason, case when u.target <> :succeeded then t.reason end),
      lease_id = null, slots = null, paused_at = null, paused_from = null
    from unnest(p_ids, p_to, p_reasons) u(id, target, reason)
    where t.id = u.id and (t.state + 0) in (:claimed, :running, :expanding, :paused)
      and (v_retry is null or t.id <> all(v_retry));
  end if;

  select * into v_after from conclude(v_ended, v_workflows, p_linked, :succeeded = all(p_to), p_actions, p_leases, v_slots,
    v_amounts, p_now, v_containers);
  if v_codes is not null then
    v_states := array(select t.state from unnest(p_asked) with ordinality q(id, ord) left join task t on t.id = q.id
      order by q.ord);
  end if;
  return json_build_object('codes', v_codes, 'states', v_states, 'moved', v_moved,
    'cascaded', kinds_of(v_after.cascaded), 'propagations', v_after.propagations, 'retried', coalesce(cardinality(v_retry), 0),
    'lanes', v_lanes || v_after.lanes, 'deliveries', v_after.deliveries, 'unblocked', v_after.unblocked, 'ended', v_after.ended,
    'workflows', (select json_agg(w.id) from (select distinct unnest(p_workflows) as id limit 17) w));
end $$;

-- [[kind, count]] of some tasks, for metrics.
create or replace function kinds_of(p_ids uuid[])
returns json language sql stable as $$
  select case when cardinality(p_ids) > 0 then (
    select json_agg(json_build_array(g.kind_id, g.n))
    from (select t.kind_id, count(*) as n from task t where t.id = any(p_ids) group by t.kind_id) g) end
$$;

-- Delay before the next attempt: min(base * factor^(attempt - 1), max), less a random share of `jitter` of it. One
-- random number serves a set: the task's id spreads it.
create or replace function retry_delay(p_retry jsonb, p_attempt integer, p_id uuid, p_jitter double precision)
returns interval language sql immutable as $$
  select least(
      (p_retry ->> 'base_ms')::double precision * power((p_retry ->> 'factor')::double precision, least(p_attempt, 64) - 1),
      (p_retry ->> 'max_ms')::double precision)
    * (1 - (p_retry ->> 'jitter')::double precision
      * mod((p_jitter + abs(hashtext(p_id::text || p_attempt)::bigint) / 2147483648.0)::numeric, 1)::double precision)
    * interval '1 millisecond'
$$;

-- A report on a canceled attempt only releases what the attempt still held.
create or replace function release_canceled(p_ids uuid[], p_codes smallint[])
returns integer[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_ids uuid[];
  v_leases bigint[];
  v_slots bigint[];
  v_amounts bigint[];
begin
  select array_agg(t.id), array_agg(t.lease_id) into v_ids, v_leases
  from unnest(p_ids, p_codes) u(id, code) join task t on t.id = u.id
  where u.code in (:result_unchanged, :result_conflict) and t.state >= :terminal and t.lease_id is not null;
  if v_ids is null then return '{}'; end if;
  select array_agg(h.slot), array_agg(slot_amount(h.slot, t.expected_count, t.success_count, t.failure_count))
  into v_slots, v_amounts
  from task t, unnest(t.slots) h(slot) where t.id = any(v_ids);
  update task set slots = null, lease_id = null where id = any(v_ids) and state >= :terminal;
  perform close_leases(v_leases);
  return return_slots(v_slots, v_amounts);
end $$;
