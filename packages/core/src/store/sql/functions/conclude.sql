-- Everything that follows from tasks having ended, whatever ended them.
-- Locks: the caller holds the workflows with dependencies and the tasks; then children, containers, leases by id, slots by
-- id, and workflows without dependencies by id.
-- Callers: settle, cancel, relay; close_leases, lock_workflows and count_skipped also other transitions.

-- Everything that follows from tasks having ended: their children's gates, leases, slots, end deliveries, and their
-- workflows' counts.
create or replace function conclude(p_ending ending, p_now timestamptz, out cascaded uuid[], out unblocked integer,
  out lanes integer[], out deliveries integer, out ended uuid[], out propagations jsonb)
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_workflows uuid[] := p_ending.workflows;
  v_states smallint[] := p_ending.states;
  v_crosses boolean;
  v_left record;
begin
  cascaded := '{}';
  unblocked := 0;
  lanes := '{}';
  deliveries := 0;
  if p_ending.linked then
    select p.failed_ids, p.unblocked, p.lanes, p.crosses, p.propagations
    into cascaded, unblocked, lanes, v_crosses, propagations
    from propagate(p_ending.ids, p_ending.states is null, p_now) p;
    if v_crosses then
      insert into relay (parent_id, created_at)
      select distinct e.parent_id, p_now from edge e where e.parent_id = any(p_ending.ids || cascaded) and e.crosses
      on conflict do nothing;
    end if;
    if cardinality(cascaded) > 0 then
      v_workflows := v_workflows || array(
        select t.workflow_id from unnest(cascaded) with ordinality f(id, ord) join task t on t.id = f.id order by f.ord);
      v_states := v_states || array_fill(:failed::smallint, array[cardinality(cascaded)]);
    end if;
  end if;
  if p_ending.containers is not null then
    select * into v_left from leave_containers(p_ending.ids, p_ending.containers, p_ending.states is null, p_now);
    unblocked := unblocked + v_left.unblocked;
    lanes := lanes || v_left.lanes;
    if cardinality(v_left.workflows) > 0 then
      v_states := coalesce(v_states, array_fill(:succeeded::smallint, array[cardinality(v_workflows)]))
        || array_fill(:disabled::smallint, array[cardinality(v_left.workflows)]);
      v_workflows := v_workflows || v_left.workflows;
    end if;
  end if;
  perform close_leases(p_ending.leases);
  lanes := lanes || return_slots(p_ending.slots, p_ending.amounts);
  if p_ending.has_actions or cardinality(cascaded) > 0 then
    deliveries := write_end_deliveries(p_ending.ids || cascaded, p_now);
  end if;
  ended := count_ended(p_ending.ids || cascaded, v_workflows, v_states, p_now);
end $$;

-- Removes ended attempts from their leases; a lease without open attempts is deleted.
create or replace function close_leases(p_leases bigint[])
returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_gone integer;
begin
  if p_leases is null then return; end if;
  -- A claim of one task ends with it, which is the most common lease of an idle system.
  if cardinality(p_leases) = 1 then
    delete from lease where id = p_leases[1] and cardinality(task_ids) = 1;
    get diagnostics v_gone = row_count;
    if v_gone = 1 then return; end if;
  end if;
  perform 1 from lease where id = any(p_leases) order by id for update;
  update lease l set open = l.open - c.n
  from (select u.id, count(*)::integer as n from unnest(p_leases) u(id) where u.id is not null group by u.id) c
  where l.id = c.id;
  delete from lease where id = any(p_leases) and open <= 0;
end $$;

-- Writes the end deliveries of tasks. They wait while a start delivery of the task is open.
create or replace function write_end_deliveries(p_ids uuid[], p_now timestamptz)
returns integer language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_written integer;
begin
  insert into delivery as d (id, task_id, workflow_id, attempt, trigger, ordinal, origin, action, idempotency_key,
    state, next_try_at, traceparent, created_at)
  select delivery_id(t.id, t.attempt, a.trigger, a.ordinal), t.id, t.workflow_id, t.attempt, a.trigger, a.ordinal, a.action ->> 'origin', a.action,
    t.id || case a.trigger when 'cancel' then ':cancel' else ':end:' || a.trigger end
      || case when a.ordinal > 0 then ':action-' || a.ordinal + 1 else '' end
      || case when t.attempt > 1 then ':attempt-' || t.attempt else '' end,
    case when h.held then 'held' else 'due' end, case when h.held then null else p_now end, w.traceparent, p_now
  from task t
  join task_spec sp on sp.task_id = t.id
  join workflow w on w.id = t.workflow_id
  cross join lateral (
    select x.value as action, x.value ->> 'trigger' as trigger,
      (row_number() over (order by x.ord) - 1)::smallint as ordinal
    from jsonb_array_elements(sp.actions) with ordinality x(value, ord)
    where x.value ->> 'trigger' = case when t.state = :succeeded then 'success'
      when t.state in (:failed, :timed_out, :partially_failed) then 'failure'
      when t.state = :canceled and t.deadline_at is not null then 'cancel' end) a
  cross join lateral (
    select exists (select 1 from delivery s
      where s.task_id = t.id and s.attempt = t.attempt and s.trigger = 'start' and s.state = 'due') as held) h
  where t.id = any(p_ids) and t.has_actions
  on conflict (task_id, attempt, trigger, ordinal) do update
    set state = excluded.state, next_try_at = excluded.next_try_at, tries = 0, first_try_at = null, holder = null
    where d.state in ('delivered', 'dead');
  get diagnostics v_written = row_count;
  return v_written;
end $$;

-- Counts ended tasks off their workflows (one entry per task), in the order of the workflows' ids; workflows without
-- dependencies are locked only here, last of all. p_states: null if all succeeded. p_ids: those of the tasks, or of the
-- first of them, which failures are among; only the first failure of a workflow is of interest. Returns the workflows with
-- a trace that ended now; null where there is none.
create or replace function count_ended(p_ids uuid[], p_workflows uuid[], p_states smallint[], p_now timestamptz)
returns uuid[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_ended uuid[];
  v_trees uuid[];
begin
  if p_states is null then return count_succeeded(p_workflows, p_now); end if;
  perform 1 from workflow where id = any(p_workflows) order by id for no key update;
  with tally as materialized (
    select u.workflow_id, count(*)::integer as n,
      count(*) filter (where u.state in (:failed, :timed_out, :partially_failed))::integer as failed,
      count(*) filter (where u.state = :canceled)::integer as canceled,
      count(*) filter (where u.state = :disabled)::integer as skipped,
      (array_agg(u.id) filter (where u.state in (:failed, :timed_out, :partially_failed)))[1] as failed_task
    from unnest(p_ids, p_workflows, p_states) u(id, workflow_id, state) group by u.workflow_id
  ), counted as (
    update workflow w set remaining = w.remaining - c.n,
      succeeded = w.succeeded + c.n - c.failed - c.canceled - c.skipped, failed = w.failed + c.failed,
      canceled = w.canceled + c.canceled, skipped = w.skipped + c.skipped,
      failing = w.failing or c.failed > 0, failed_task = coalesce(w.failed_task, c.failed_task),
      ended_at = case when w.remaining = c.n then p_now else w.ended_at end,
      outcome = case when w.remaining = c.n then
        case when w.is_tree then run_outcome((select k.state from container k where k.id = w.id),
            w.succeeded + c.n - c.failed - c.canceled - c.skipped, w.failed + c.failed, w.canceled + c.canceled,
            w.skipped + c.skipped)
          else run_outcome(null, w.succeeded + c.n - c.failed - c.canceled - c.skipped, w.failed + c.failed,
            w.canceled + c.canceled, w.skipped + c.skipped) end end
    from tally c where w.id = c.workflow_id
    returning w.id, w.remaining, w.is_tree, w.traceparent is not null as traced
  )
  select array_agg(id) filter (where remaining = 0 and traced), array_agg(id) filter (where remaining = 0 and is_tree)
  into v_ended, v_trees from counted;
  perform note_ended_trees(v_trees, p_now);
  return v_ended;
end $$;

-- Counts tasks that all succeeded, as count_ended does: the most frequent end, which pays for no other.
create or replace function count_succeeded(p_workflows uuid[], p_now timestamptz)
returns uuid[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_workflows uuid[];
  v_counts integer[];
  v_ended uuid[];
  v_trees uuid[];
begin
  if p_workflows[1] = all(p_workflows) then
    v_workflows := array[p_workflows[1]];
    v_counts := array[cardinality(p_workflows)];
  else
    select array_agg(c.id), array_agg(c.n) into v_workflows, v_counts from (
      select u.id, count(*)::integer as n from unnest(p_workflows) u(id) group by u.id order by u.id) c;
    perform 1 from workflow where id = any(v_workflows) order by id for no key update;
  end if;
  with counted as (
    update workflow w set remaining = w.remaining - c.n, succeeded = w.succeeded + c.n,
      ended_at = case when w.remaining = c.n then p_now else w.ended_at end,
      outcome = case when w.remaining = c.n then
        case when w.is_tree then run_outcome((select k.state from container k where k.id = w.id), 1, w.failed, w.canceled,
            w.skipped)
          else run_outcome(null, 1, w.failed, w.canceled, w.skipped) end end
    from unnest(v_workflows, v_counts) c(id, n) where w.id = c.id
    returning w.id, w.remaining, w.is_tree, w.traceparent is not null as traced
  )
  select array_agg(id) filter (where remaining = 0 and traced), array_agg(id) filter (where remaining = 0 and is_tree)
  into v_ended, v_trees from counted;
  perform note_ended_trees(v_trees, p_now);
  return v_ended;
end $$;

-- Counts disabled tasks, as count_ended does.
create or replace function count_skipped(p_workflows uuid[], p_now timestamptz)
returns uuid[] language plpgsql as $$
begin
  if cardinality(p_workflows) = 0 then return null; end if;
  return count_ended(null, p_workflows, array_fill(:disabled::smallint, array[cardinality(p_workflows)]), p_now);
end $$;

-- Ended trees wait for their finalization.
create or replace function note_ended_trees(p_workflows uuid[], p_now timestamptz)
returns void language plpgsql as $$
begin
  if p_workflows is null then return; end if;
  insert into finalization (workflow_id, created_at) select u.id, p_now from unnest(p_workflows) u(id)
  on conflict do nothing;
end $$;

-- Locks the workflows with dependencies that these tasks belong to, in the order of their ids: the first of all locks.
create or replace function lock_workflows(p_ids uuid[])
returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  perform 1 from workflow w
  where w.id in (select t.workflow_id from task t where t.id = any(p_ids) and t.linked)
  order by w.id for no key update;
end $$;
