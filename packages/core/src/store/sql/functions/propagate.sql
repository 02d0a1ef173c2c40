-- What the ends of tasks do to the tasks that depend on them: gates close, tasks become ready or fail.
-- Locks: tasks, level by level, by id within a level. The caller holds the workflows and the ended tasks.
-- Callers: conclude; make_ready also settle, update, retry, pause and sweep.

-- Closes gates of these children: one whose last gate closed is ready, one with a cause fails unless it has started.
-- Locks them in the order of their ids.
create or replace function close_gates(p_children uuid[], p_closed integer[], p_causes uuid[], p_now timestamptz,
  out failed uuid[], out opened integer, out lanes integer[])
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_locked uuid[];
  v_states smallint[];
  v_from smallint[];
  v_gates integer[];
  v_later uuid[];
  v_ready ready_rows;
begin
  select array_agg(t.id), array_agg(t.state), array_agg(t.paused_from), array_agg(t.open_gates)
  into v_locked, v_states, v_from, v_gates
  from (
    select t.id, t.state, t.paused_from, t.open_gates from task t
    where t.id = any(p_children) order by t.id for no key update) t;
  if p_causes is null then
    select o.opened, o.lanes into opened, lanes from open_children(p_children, p_closed, v_locked, v_states, v_gates, p_now) o;
    return;
  end if;

  with decided as materialized (
    select g.child_id, g.closed, g.cause,
      g.cause is not null and (l.state = :waiting
        or (l.state = :paused and l.paused_from in (:waiting, :pending))) as fails,
      g.cause is null and l.state = :waiting and l.open_gates = g.closed as opens
    from unnest(p_children, p_closed, p_causes) g(child_id, closed, cause)
    join unnest(v_locked, v_states, v_from, v_gates) l(id, state, paused_from, open_gates) on l.id = g.child_id
  ), moved as (
    update task t set
      open_gates = t.open_gates - c.closed,
      state = case when c.fails then :failed when c.opens then :pending else t.state end,
      run_at = case when c.opens then greatest(t.run_at, p_now) else t.run_at end,
      updated_at = case when c.fails or c.opens then p_now else t.updated_at end,
      ended_at = case when c.fails then p_now else t.ended_at end,
      paused_at = case when c.fails then null else t.paused_at end,
      paused_from = case when c.fails then null else t.paused_from end,
      cause = case when c.fails then c.cause else t.cause end,
      reason = case when c.fails then reason_of(c.cause) else t.reason end
    from decided c
    where t.id = c.child_id
    returning t.id, c.fails, c.opens, t.run_at <= p_now as due, -t.priority as rank,
      lane_of(t.starts_by_webhook, t.needs_runner, t.kind_id) as lane
  )
  select array_agg(m.id) filter (where m.fails), count(*) filter (where m.opens),
    array_agg(m.id) filter (where m.opens and not m.due), array_agg(m.lane) filter (where m.opens and m.due),
    array_agg(m.rank) filter (where m.opens and m.due), array_agg(m.id) filter (where m.opens and m.due)
  into failed, opened, v_later, v_ready.lanes, v_ready.ranks, v_ready.ids from moved m;
  lanes := enter_lanes(v_ready);
  if v_later is not null then perform make_ready(v_later, p_now); end if;
end $$;

-- Closes gates of locked children, none of which fails; p_states and p_gates are those of p_locked, in the order of the ids.
-- Most often all of them open: then one list of ids says everything.
create or replace function open_children(p_children uuid[], p_closed integer[], p_locked uuid[], p_states smallint[],
  p_gates integer[], p_now timestamptz, out opened integer, out lanes integer[])
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_opening uuid[] := p_locked;
  v_kept uuid[];
  v_kept_closed integer[];
  v_later uuid[];
  v_ready ready_rows;
begin
  if not coalesce(p_locked = p_children and p_gates = p_closed and :waiting = all(p_states), false) then
    select array_agg(l.id) filter (where o.opens), array_agg(l.id) filter (where not o.opens),
      array_agg(g.closed) filter (where not o.opens)
    into v_opening, v_kept, v_kept_closed
    from unnest(p_children, p_closed) g(child_id, closed)
    join unnest(p_locked, p_states, p_gates) l(id, state, open_gates) on l.id = g.child_id
    cross join lateral (select l.state = :waiting and l.open_gates = g.closed) o(opens);
    update task t set open_gates = t.open_gates - k.closed
    from unnest(v_kept, v_kept_closed) k(id, closed) where t.id = k.id;
  end if;
  opened := coalesce(cardinality(v_opening), 0);
  if opened = 0 then return; end if;
  with moved as (
    update task t set open_gates = 0, state = :pending, run_at = greatest(t.run_at, p_now), updated_at = p_now
    where t.id = any(v_opening)
    returning t.id, t.run_at <= p_now as due, -t.priority as rank,
      lane_of(t.starts_by_webhook, t.needs_runner, t.kind_id) as lane
  )
  select array_agg(m.id) filter (where not m.due), array_agg(m.lane) filter (where m.due),
    array_agg(m.rank) filter (where m.due), array_agg(m.id) filter (where m.due)
  into v_later, v_ready.lanes, v_ready.ranks, v_ready.ids from moved m;
  lanes := enter_lanes(v_ready);
  if v_later is not null then perform make_ready(v_later, p_now); end if;
end $$;

-- Finds everything that fails because this task did, at any depth: all unstarted tasks behind gates that require
-- success. In one statement, since a chain is as many levels as tasks. The planner, which knows nothing of what it
-- walks through, is kept to the way that costs the same for each.
create or replace function falling_below(p_id uuid)
returns uuid[] language plpgsql set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
begin
  return array(
    with recursive falls as (
      select t.id, t.policy from edge e join task t on t.id = e.child_id
      where e.parent_id = p_id and e.requires_success and not e.crosses
        and (t.state = :waiting or (t.state = :paused and t.paused_from in (:waiting, :pending)))
      union
      select t.id, t.policy from falls f join edge e on e.parent_id = f.id join task t on t.id = e.child_id
      where not passes(f.policy, :failed::smallint) and e.requires_success and not e.crosses
        and (t.state = :waiting or (t.state = :paused and t.paused_from in (:waiting, :pending)))
    )
    select f.id from falls f);
end $$;

-- Closes the gates behind a set of tasks that ended, of which only one, p_failed, did not succeed: nothing below
-- can have another cause, so that failures and openings are one step, as deep as they go.
create or replace function propagate_failure(p_parents uuid[], p_failed uuid, p_cause uuid, p_now timestamptz,
  out failed_ids uuid[], out unblocked integer, out lanes integer[], out crosses boolean)
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_children uuid[];
  v_closed integer[];
  v_causes uuid[];
begin
  failed_ids := falling_below(p_failed);
  select array_agg(c.id) filter (where c.closed > 0), array_agg(c.closed) filter (where c.closed > 0),
    array_agg(case when c.fails then p_cause end) filter (where c.closed > 0), coalesce(bool_or(c.crosses), false)
  into v_children, v_closed, v_causes, crosses
  from (
    select u.id, sum(u.closed)::integer as closed, bool_or(u.fails) as fails, bool_or(u.crosses) as crosses
    from (
      select e.child_id as id, case when e.crosses then 0 else 1 end as closed, false as fails, e.crosses
      from unnest(p_parents || failed_ids) p(id) join edge e on e.parent_id = p.id
      union all
      select f.id, 0, true, false from unnest(failed_ids) f(id)) u
    group by u.id order by u.id) c;
  unblocked := 0;
  lanes := '{}';
  if v_children is null then return; end if;
  select coalesce(g.failed, '{}'), g.opened, coalesce(g.lanes, '{}') into failed_ids, unblocked, lanes
  from close_gates(v_children, v_closed, v_causes, p_now) g;
end $$;

-- The dependencies on ended tasks, counted by the state of the parent, for metrics: [{state, count}].
create or replace function propagations_of(p_parents uuid[])
returns jsonb language sql stable set enable_seqscan = off as $$
  select jsonb_agg(jsonb_build_object('state', g.state, 'count', g.n)) from (
    select p.state, count(*) as n from task p join edge e on e.parent_id = p.id
    where p.id = any(p_parents) and not e.crosses group by p.state) g
$$;

-- Closes the gates behind tasks that ended, level by level: one round per level. Returns the tasks that ended
-- because of it, the lanes where tasks became ready, and the dependencies it went through. The caller holds the
-- workflows and the parents, and says whether all of those succeeded: then they need no check.
create or replace function propagate(p_parents uuid[], p_succeeded boolean, p_now timestamptz, out failed_ids uuid[],
  out unblocked integer, out lanes integer[], out crosses boolean, out propagations jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_front uuid[] := p_parents;
  v_children uuid[];
  v_closed integer[];
  v_causes uuid[];
  v_next uuid[];
  v_open integer;
  v_lanes integer[];
  v_crosses boolean;
  v_succeeded boolean := p_succeeded;
begin
  if not p_succeeded then
    select array_agg(p.id), array_agg(coalesce(p.cause, p.id)) into v_front, v_causes
    from task p where p.id = any(p_parents) and not passes(p.policy, p.state);
    if cardinality(v_front) = 1 then
      select f.failed_ids, f.unblocked, f.lanes, f.crosses into failed_ids, unblocked, lanes, crosses
      from propagate_failure(p_parents, v_front[1], v_causes[1], p_now) f;
      propagations := propagations_of(p_parents || failed_ids);
      return;
    end if;
    v_succeeded := v_front is null;
    v_front := p_parents;
  end if;
  failed_ids := '{}';
  unblocked := 0;
  lanes := '{}';
  crosses := false;
  while cardinality(v_front) > 0 loop
    -- Aggregated by child, since two parents of one child in a set close two gates.
    if v_succeeded then
      select array_agg(c.child_id) filter (where c.closed > 0), array_agg(c.closed) filter (where c.closed > 0),
        bool_or(c.crosses)
      into v_children, v_closed, v_crosses
      from (
        select e.child_id, count(*) filter (where not e.crosses)::integer as closed, bool_or(e.crosses) as crosses
        from edge e where e.parent_id = any(v_front) group by e.child_id order by e.child_id) c;
      v_causes := null;
    else
      select array_agg(c.child_id) filter (where c.closed > 0), array_agg(c.closed) filter (where c.closed > 0),
        array_agg(c.cause) filter (where c.closed > 0), bool_or(c.crosses)
      into v_children, v_closed, v_causes, v_crosses
      from (
        select e.child_id, count(*) filter (where not e.crosses)::integer as closed, bool_or(e.crosses) as crosses,
          (array_agg(coalesce(p.cause, p.id) order by p.id)
            filter (where e.requires_success and not passes(p.policy, p.state)))[1] as cause
        from unnest(v_front) f(id) join task p on p.id = f.id join edge e on e.parent_id = f.id
        group by e.child_id order by e.child_id) c;
    end if;
    v_succeeded := false;
    crosses := crosses or coalesce(v_crosses, false);
    exit when v_children is null;
    select g.failed, g.opened, g.lanes into v_next, v_open, v_lanes from close_gates(v_children, v_closed, v_causes, p_now) g;

    unblocked := unblocked + v_open;
    lanes := lanes || v_lanes;
    failed_ids := failed_ids || v_next;
    v_front := v_next;
    if p_succeeded then
      propagations := jsonb_build_array(jsonb_build_object('state', :succeeded,
        'count', (select sum(c.closed) from unnest(v_closed) c(closed))));
    end if;
  end loop;
  if not p_succeeded then propagations := propagations_of(p_parents || failed_ids); end if;
end $$;

-- The reason of a task that failed by dependency: the root cause, and how that ended.
create or replace function reason_of(p_cause uuid)
returns text language sql stable as $$
  select 'the task it depends on, "' || left(r.name, 200) || '" (' || r.id || '), '
    || case r.state when :canceled then 'was canceled' when :timed_out then 'timed out' else 'failed' end
  from task r where r.id = p_cause
$$;

-- Moves pending tasks to where claims find them: to their lane, or aside until they are due.
create or replace function make_ready(p_ids uuid[], p_now timestamptz)
returns integer[] language plpgsql as $$
declare
  v_ready ready_rows;
begin
  with fresh as (
    select t.id, t.run_at, coalesce(t.run_at <= p_now, true) as due, -t.priority as rank,
      lane_of(t.starts_by_webhook, t.needs_runner, t.kind_id) as lane
    from task t where t.id = any(p_ids)
  ), later as (
    insert into delayed (run_at, task_id) select f.run_at, f.id from fresh f where not f.due on conflict do nothing
  )
  select array_agg(f.lane), array_agg(f.rank), array_agg(f.id) into v_ready from fresh f where f.due;
  return enter_lanes(v_ready);
end $$;
