-- Containers of trees: counts of their children, the states that follow from them, and the walk that opens and ends
-- containers.
-- Locks: tasks by id. The caller holds the workflows, so the order of containers does not matter.
-- Callers: conclude, trees, branches, retry_trees, reevaluate. Functions without settings have those of advance_containers.

-- Whether a sequence continues after a node that ended like this, by its policy.
create or replace function passes(p_policy smallint, p_state smallint)
returns boolean language sql immutable as $$
  select p_state in (:succeeded, :disabled) or p_policy = :continue_on_failure
    or (p_policy = :continue_on_partial_failure and p_state = :partially_failed)
$$;

-- The state of a container without open children.
create or replace function derived_state(p_stopped boolean, p_children integer, p_succeeded integer, p_timed_out integer,
  p_partially_failed integer, p_disabled integer, p_tolerated integer)
returns smallint language sql immutable as $$
  select case
    when p_stopped then :failed
    when p_tolerated > 0 then :partially_failed
    when p_children = p_disabled then case when p_children = 0 then :succeeded else :disabled end
    when p_succeeded = 0 and p_partially_failed = 0 then
      case when p_timed_out = p_children - p_disabled then :timed_out else :failed end
    when p_succeeded = p_children - p_disabled then :succeeded
    else :partially_failed end::smallint
$$;

-- Counts ended children (one entry per child) off their containers.
create or replace function count_children(p_parents uuid[], p_states smallint[], p_policies smallint[])
returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  update container c set open = c.open - e.n, succeeded = c.succeeded + e.succeeded, failed = c.failed + e.failed,
    timed_out = c.timed_out + e.timed_out, partially_failed = c.partially_failed + e.partially_failed,
    disabled = c.disabled + e.disabled, tolerated = c.tolerated + e.tolerated
  from (
    select u.parent_id, count(*)::integer as n,
      count(*) filter (where u.state = :succeeded)::integer as succeeded,
      count(*) filter (where u.state in (:failed, :canceled))::integer as failed,
      count(*) filter (where u.state = :timed_out)::integer as timed_out,
      count(*) filter (where u.state = :partially_failed)::integer as partially_failed,
      count(*) filter (where u.state = :disabled)::integer as disabled,
      count(*) filter (where u.state not in (:succeeded, :disabled) and passes(u.policy, u.state))::integer as tolerated
    from unnest(p_parents, p_states, p_policies) u(parent_id, state, policy)
    where u.parent_id is not null group by u.parent_id) e
  where c.id = e.parent_id;
end $$;

-- Releases containers that ended generators kept open; returns the containers.
create or replace function release_container_generators(p_tasks uuid[])
returns uuid[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_containers uuid[];
begin
  with gone as (
    update container_generator set done = true where task_id = any(p_tasks) and not done returning container_id
  )
  select array_agg(container_id) into v_containers from gone;
  if v_containers is null then return '{}'; end if;
  update container c set open_generators = c.open_generators - g.n
  from (select u.id, count(*)::integer as n from unnest(v_containers) u(id) group by u.id) g
  where c.id = g.id;
  return v_containers;
end $$;

-- Lets these tasks start: closes one gate each; those without another one are ready.
create or replace function unseal(p_ids uuid[], p_now timestamptz, out opened integer, out lanes integer[])
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_later uuid[];
  v_ready ready_rows;
begin
  with moved as (
    update task t set sealed = false, open_gates = t.open_gates - 1,
      state = case when t.state = :waiting and t.open_gates = 1 then :pending else t.state end,
      run_at = case when t.state = :waiting and t.open_gates = 1 then greatest(t.run_at, p_now) else t.run_at end,
      updated_at = p_now
    where t.id = any(p_ids) and t.sealed and (t.state + 0) < :terminal
    returning t.id, t.state = :pending as opens, t.run_at <= p_now as due, -t.priority as rank,
      lane_of(t.starts_by_webhook, t.needs_runner, t.kind_id) as lane
  )
  select count(*) filter (where m.opens)::integer, array_agg(m.id) filter (where m.opens and not m.due),
    array_agg(m.lane) filter (where m.opens and m.due), array_agg(m.rank) filter (where m.opens and m.due),
    array_agg(m.id) filter (where m.opens and m.due)
  into opened, v_later, v_ready.lanes, v_ready.ranks, v_ready.ids from moved m;
  lanes := enter_lanes(v_ready);
  if v_later is not null then perform make_ready(v_later, p_now); end if;
end $$;

-- Describes a node that did not succeed.
create or replace function bad_end_of(p_state smallint)
returns text language sql immutable as $$
  select case p_state when :canceled then 'was canceled' when :timed_out then 'timed out'
    when :partially_failed then 'partially failed' else 'failed' end
$$;

-- Stops sequences at nodes that they do not tolerate: disables every later child that has not ended, with its
-- descendants. Returns the disabled tasks with their workflows.
-- p_reasons: the reasons of the nodes; p_stops: those of the sequences.
create or replace function stop_sequences(p_ids uuid[], p_positions integer[], p_causes uuid[], p_reasons text[],
  p_stops text[], p_now timestamptz, out tasks uuid[], out workflows uuid[])
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_containers uuid[];
  v_causes uuid[];
  v_reasons text[];
begin
  with recursive later as (
    select k.id, s.cause, s.reason from unnest(p_ids, p_positions, p_causes, p_reasons) s(id, position, cause, reason)
    join container k on k.parent_id = s.id and k.position > s.position and k.state + 0 < :terminal
    union all
    select k.id, l.cause, l.reason from later l join container k on k.parent_id = l.id and k.state + 0 < :terminal
  )
  select coalesce(array_agg(id), '{}'), coalesce(array_agg(cause), '{}'), coalesce(array_agg(reason), '{}')
  into v_containers, v_causes, v_reasons from later;
  with skipped as (
    update task t set state = :disabled, ended_at = p_now, updated_at = p_now, cause = s.cause, reason = s.reason,
      paused_at = null, paused_from = null
    from (
      select t.id, s.cause, s.reason from unnest(p_ids, p_positions, p_causes, p_reasons) s(id, position, cause, reason)
      join task t on t.container_id = s.id and t.position > s.position
      union all
      select t.id, s.cause, s.reason from unnest(v_containers, v_causes, v_reasons) s(id, cause, reason)
      join task t on t.container_id = s.id) s
    where t.id = s.id and (t.state + 0) < :terminal
    returning t.id, t.workflow_id
  )
  select coalesce(array_agg(id), '{}'), coalesce(array_agg(workflow_id), '{}') into tasks, workflows from skipped;
  update container c set state = :disabled, disabled = c.disabled + c.open, open = 0, ended_at = p_now, cause = s.cause,
    reason = s.reason
  from unnest(v_containers, v_causes, v_reasons) s(id, cause, reason) where c.id = s.id;
  update container c set state = :failed, stopped = true, cursor = s.position, disabled = c.disabled + c.open, open = 0,
    ended_at = p_now, reason = s.reason
  from unnest(p_ids, p_positions, p_stops) s(id, position, reason) where c.id = s.id;
end $$;

-- Advances the containers of trees after changes: ends those that have finished, lets sequences take their
-- next step, opens what comes next, up and down the tree until nothing changes. p_touched: whose counts changed;
-- p_opened: which may start, or may have new children. The caller holds the workflows. Ends come before steps,
-- so that what two ends of one set cause does not depend on their order.
create or replace function advance_containers(p_touched uuid[], p_opened uuid[], p_now timestamptz, out disabled uuid[],
  out workflows uuid[], out unblocked integer, out lanes integer[])
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_touched uuid[] := p_touched;
  v_opened uuid[] := p_opened;
  v_parents uuid[];
  v_ended uuid[];
  v_stops record;
  v_steps sequence_steps;
  v_made record;
begin
  disabled := '{}';
  workflows := '{}';
  unblocked := 0;
  lanes := '{}';
  loop
    while cardinality(v_opened) > 0 loop
      v_touched := v_touched || v_opened;
      select * into v_made from open_containers(v_opened, p_now);
      v_opened := v_made.o_inner;
      unblocked := unblocked + v_made.o_opened;
      lanes := lanes || v_made.o_lanes;
    end loop;
    exit when cardinality(v_touched) = 0;

    select o.o_ended, o.o_parents into v_ended, v_parents from end_containers(v_touched, p_now) o;
    if v_ended is not null then
      v_touched := array(
        select u.id from unnest(v_touched || v_parents) u(id) where u.id is not null and u.id <> all(v_ended) group by u.id);
      continue;
    end if;

    v_steps := step_sequences(v_touched, p_now);
    v_touched := '{}';
    v_parents := '{}';
    if v_steps.tasks is not null then
      select * into v_made from unseal(v_steps.tasks, p_now);
      unblocked := unblocked + v_made.opened;
      lanes := lanes || v_made.lanes;
    end if;
    v_opened := coalesce(v_steps.containers, '{}');
    if v_steps.stopped is not null then
      select * into v_stops from stop_sequences(v_steps.stopped, v_steps.positions, v_steps.causes, v_steps.reasons,
        v_steps.stops, p_now);
      disabled := disabled || v_stops.tasks;
      workflows := workflows || v_stops.workflows;
      v_touched := release_container_generators(v_stops.tasks);
      perform count_children(v_steps.stopped_parents,
        array_fill(:failed::smallint, array[cardinality(v_steps.stopped)]), v_steps.stopped_policies);
      v_parents := v_steps.stopped_parents;
    end if;
    if v_steps.over_parents is not null then
      perform count_children(v_steps.over_parents, v_steps.over_states, v_steps.over_policies);
      v_parents := v_parents || v_steps.over_parents;
    end if;
    v_touched := array(select u.id from unnest(v_touched || v_parents) u(id) where u.id is not null group by u.id);
    exit when cardinality(v_touched) = 0 and cardinality(v_opened) = 0;
  end loop;
end $$;

-- Starts containers that wait, unseals the tasks of parallel ones, and returns the waiting containers in these.
create or replace function open_containers(p_ids uuid[], p_now timestamptz, out o_inner uuid[], out o_opened integer,
  out o_lanes integer[])
language plpgsql as $$
declare
  v_tasks uuid[];
begin
  o_opened := 0;
  o_lanes := '{}';
  update container set state = :running, started_at = coalesce(started_at, p_now)
  where id = any(p_ids) and (state + 0) = :waiting;
  select array_agg(t.id) into v_tasks
  from container c join task t on t.container_id = c.id
  where c.id = any(p_ids) and c.state + 0 = :running and c.mode = :parallel and t.sealed;
  if v_tasks is not null then
    select u.opened, u.lanes into o_opened, o_lanes from unseal(v_tasks, p_now) u;
  end if;
  o_inner := array(
    select k.id from container c join container k on k.parent_id = c.id
    where c.id = any(p_ids) and c.state + 0 = :running and c.mode = :parallel and k.state + 0 = :waiting);
end $$;

-- Ends those of these containers that have finished, and counts them off their parents; returns both, or null.
create or replace function end_containers(p_ids uuid[], p_now timestamptz, out o_ended uuid[], out o_parents uuid[])
language plpgsql as $$
declare
  v_states smallint[];
  v_policies smallint[];
begin
  with over as (
    update container c set ended_at = p_now,
      state = derived_state(c.stopped, c.children, c.succeeded, c.timed_out, c.partially_failed, c.disabled, c.tolerated)
    where c.id = any(p_ids) and c.open = 0 and c.open_generators = 0
      and case when c.state + 0 = :running then c.mode = :parallel when c.state + 0 = :waiting then c.children > 0
        else false end
    returning c.id, c.parent_id, c.state, c.policy
  )
  select array_agg(id), array_agg(parent_id), array_agg(state), array_agg(policy)
  into o_ended, o_parents, v_states, v_policies from over;
  if o_ended is not null then perform count_children(o_parents, v_states, v_policies); end if;
end $$;

-- Lets each of these sequences that run take its next step: to its current child, the first, from the cursor on, that
-- has not ended or that it does not tolerate. Those without one end.
create or replace function step_sequences(p_ids uuid[], p_now timestamptz)
returns sequence_steps language plpgsql as $$
declare
  v_steps sequence_steps;
begin
  with stands as materialized (
    select c.id, c.parent_id, c.policy, c.cursor, c.open, c.open_generators, n.position, n.id as node_id, n.state, n.is_task,
      n.title
    from container c left join lateral (
      select f.* from (
        (select t.position, t.id, t.state, true as is_task, t.name as title
         from task t where t.container_id = c.id and t.position >= c.cursor
           and (t.state + 0 < :terminal or not passes(t.policy, t.state))
         order by t.position limit 1)
        union all
        (select k.position, k.id, k.state, false, coalesce(k.local_id, 'a container')
         from container k where k.parent_id = c.id and k.position >= c.cursor
           and (k.state + 0 < :terminal or not passes(k.policy, k.state))
         order by k.position limit 1)) f
      order by f.position limit 1) n on true
    where c.id = any(p_ids) and c.mode = :sequential and c.state + 0 = :running
  ), stepped as (
    update container c set cursor = s.position from stands s
    where c.id = s.id and s.state < :terminal and s.position > s.cursor
  ), over as (
    update container c set ended_at = p_now,
      state = derived_state(false, c.children, c.succeeded, c.timed_out, c.partially_failed, c.disabled, c.tolerated)
    from stands s where c.id = s.id and s.node_id is null and s.open = 0 and s.open_generators = 0
    returning c.id, c.parent_id, c.state, c.policy
  )
  select
    (select array_agg(s.node_id) filter (where s.is_task) from stands s
     where s.state < :terminal and s.position > s.cursor),
    (select array_agg(s.node_id) filter (where not s.is_task) from stands s
     where s.state < :terminal and s.position > s.cursor),
    (select array_agg(s.id) from stands s where s.state >= :terminal),
    (select array_agg(s.position) from stands s where s.state >= :terminal),
    (select array_agg(s.node_id) from stands s where s.state >= :terminal),
    (select array_agg('"' || left(s.title, 200) || '" (' || s.node_id || '), which comes before it, ' || bad_end_of(s.state))
     from stands s where s.state >= :terminal),
    (select array_agg('"' || left(s.title, 200) || '" (' || s.node_id || ') ' || bad_end_of(s.state))
     from stands s where s.state >= :terminal),
    (select array_agg(s.parent_id) from stands s where s.state >= :terminal),
    (select array_agg(s.policy) from stands s where s.state >= :terminal),
    (select array_agg(o.parent_id) from over o),
    (select array_agg(o.state) from over o),
    (select array_agg(o.policy) from over o)
  into v_steps;
  return v_steps;
end $$;

-- Applies the ends of tasks to their trees. p_containers has one entry per task, null if it has no container.
create or replace function leave_containers(p_ids uuid[], p_containers uuid[], p_succeeded boolean, p_now timestamptz,
  out disabled uuid[], out workflows uuid[], out unblocked integer, out lanes integer[])
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_parents uuid[];
  v_states smallint[];
  v_policies smallint[];
begin
  if p_succeeded then
    perform count_children(p_containers, array_fill(:succeeded::smallint, array[cardinality(p_containers)]),
      array_fill(:fail_on_failure::smallint, array[cardinality(p_containers)]));
  else
    select array_agg(t.container_id), array_agg(t.state), array_agg(t.policy) into v_parents, v_states, v_policies
    from task t where t.id = any(p_ids) and t.container_id is not null;
    perform count_children(v_parents, v_states, v_policies);
  end if;
  select w.disabled, w.workflows, w.unblocked, w.lanes into disabled, workflows, unblocked, lanes
  from advance_containers(
    array(select u.id from unnest(p_containers) u(id) where u.id is not null group by u.id) || release_container_generators(p_ids), '{}',
    p_now) w;
end $$;
