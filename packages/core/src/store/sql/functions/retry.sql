-- Reopens ended tasks, and those that failed only because of them.
-- Locks: workflows by id, tasks by id, leases by id, slots by id.
-- Callers: store/transitions.ts. reopen_tasks has the settings of retry_tasks, which calls it.

-- The tasks that failed by dependency and reopen with these, at any depth: those that no other required parent blocks.
-- A walk down finds all candidates, a walk from the parents that stay ended removes those that they block: two
-- statements, whatever the number of levels. The planner is restricted to the plan whose cost does not vary.
create or replace function reopening_below(p_ids uuid[])
returns uuid[] language plpgsql set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  v_below uuid[];
  v_holding uuid[];
begin
  with recursive below as (
    select t.id from unnest(p_ids) o(id) join edge e on e.parent_id = o.id join task t on t.id = e.child_id
    where not e.crosses and t.state = :failed and t.cause is not null
    union
    select t.id from below b join edge e on e.parent_id = b.id join task t on t.id = e.child_id
    where not e.crosses and t.state = :failed and t.cause is not null
  )
  select array_agg(b.id) into v_below from (select id from below except select id from unnest(p_ids) o(id)) b;
  if v_below is null then return '{}'; end if;
  v_holding := array(
    select q.id from unnest(v_below) b(id) join edge e on e.child_id = b.id join task q on q.id = e.parent_id
    where e.requires_success and q.state >= :terminal and not passes(q.policy, q.state)
    except select id from unnest(v_below || p_ids) o(id));
  if cardinality(v_holding) = 0 then return v_below; end if;
  return array(
    with recursive held as (
      select e.child_id as id from unnest(v_holding) h(id) join edge e on e.parent_id = h.id where e.requires_success
      union
      select e.child_id from held h join task q on q.id = h.id join edge e on e.parent_id = q.id
      where e.requires_success and q.state >= :terminal and not passes(q.policy, q.state) and q.id <> all(p_ids)
    )
    select id from unnest(v_below) b(id) except select id from held);
end $$;

-- How many gates are open before tasks that reopen together, and how many more than now before their children.
create or replace function gates_around(p_ids uuid[], out ids uuid[], out gates integer[], out reopens boolean[])
language sql set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
  select array_agg(g.id), array_agg(g.gates), array_agg(g.reopens)
  from (
    select u.id, sum(u.gates)::integer as gates, bool_or(u.reopens) as reopens
    from (
      select o.id, 0 as gates, true as reopens from unnest(p_ids) o(id)
      union all
      select e.child_id, 1, true from unnest(p_ids) o(id) join edge e on e.child_id = o.id
      left join task p on p.id = e.parent_id and not e.crosses
      where case when e.crosses then not e.relayed else p.state < :terminal end
      union all
      select e.child_id, 1, false from unnest(p_ids) o(id) join edge e on e.parent_id = o.id where not e.crosses) u
    group by u.id order by u.id) g
$$;

-- Reopens failed, timed-out and canceled tasks, and those that failed only because of them. Codes: 0 applied,
-- 2 unchanged (pending or waiting), 3 conflict, 6 not found.
create or replace function retry_tasks(p_ids uuid[], p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_codes smallint[];
  v_open uuid[];
  v_held uuid[];
  v_lanes integer[] := '{}';
  v_in_trees uuid[];
begin
  perform 1 from workflow w where w.id in (select t.workflow_id from task t where t.id = any(p_ids))
  order by w.id for no key update;
  with locked as (
    select t.id, t.state, t.container_id, w.remaining from task t join workflow w on w.id = t.workflow_id
    where t.id = any(p_ids) order by t.id for no key update of t
  )
  select array_agg(case when l.id is null then :result_not_found when l.state in (:waiting, :pending) then :result_unchanged
      when l.state in (:failed, :timed_out, :partially_failed, :canceled)
        and (l.container_id is null or l.remaining = 0) then :result_applied
      else :result_conflict end::smallint
      order by r.ord),
    array_agg(distinct l.id) filter (where l.state in (:failed, :timed_out, :partially_failed, :canceled)
      and l.container_id is null),
    array_agg(l.id) filter (where l.state in (:failed, :timed_out, :partially_failed, :canceled)
      and l.container_id is not null and l.remaining = 0)
  into v_codes, v_open, v_in_trees from unnest(p_ids) with ordinality r(id, ord) left join locked l on l.id = r.id;
  if v_in_trees is not null then
    v_lanes := retry_in_trees(v_in_trees, v_now);
  end if;
  -- A task whose required parent stays ended cannot run: retry the parent instead. A blocked task may block others.
  loop
    v_held := array(
      select t.id from task t where t.id = any(v_open) and t.cause is not null and exists (
        select 1 from edge o join task q on q.id = o.parent_id
        where o.child_id = t.id and o.requires_success and q.state >= :terminal and not passes(q.policy, q.state)
          and q.id <> all(v_open)));
    exit when cardinality(v_held) = 0;
    v_open := array(select o.id from unnest(v_open) o(id) where o.id <> all(v_held));
    v_codes := array(select case when q.id = any(v_held) then :result_conflict else v_codes[q.ord] end
      from unnest(p_ids) with ordinality q(id, ord) order by q.ord);
  end loop;
  if coalesce(cardinality(v_open), 0) = 0 then
    return json_build_object('codes', v_codes, 'lanes', v_lanes, 'workflows', (
      select json_agg(w.workflow_id) from (select distinct t.workflow_id from task t where t.id = any(v_in_trees) limit 17) w));
  end if;
  return (reopen_tasks(v_open, p_ids, v_lanes, false, v_now)::jsonb || jsonb_build_object('codes', v_codes))::json;
end $$;

-- Reopens tasks that may run again, of which p_asked run at once, with what failed only because of them. Returns what
-- retry_tasks returns, without codes; p_lanes: lanes to add; p_afresh: whether their counters begin again.
create or replace function reopen_tasks(p_ids uuid[], p_asked uuid[], p_lanes integer[], p_afresh boolean, p_now timestamptz)
returns json language plpgsql as $$
declare
  v_open uuid[] := p_ids || reopening_below(p_ids);
  v_regated uuid[];
  v_around uuid[];
  v_gates integer[];
  v_reopens boolean[];
  v_workflows uuid[];
  v_states smallint[];
  v_lanes integer[];
  v_transitions json;
  v_leases bigint[];
  v_slots bigint[];
  v_amounts bigint[];
begin
  select g.ids, g.gates, g.reopens into v_around, v_gates, v_reopens from gates_around(v_open) g;
  v_regated := array(select g.id from unnest(v_around, v_reopens) g(id, reopens) where not g.reopens);
  perform 1 from task t where t.id = any(v_around) order by t.id for no key update;

  -- What canceled attempts still held is returned first.
  select array_agg(t.lease_id) into v_leases from task t where t.id = any(v_open) and t.lease_id is not null;
  select h.slots, h.amounts into v_slots, v_amounts from held_slots(v_open) h;
  select array_agg(t.workflow_id), array_agg(t.state) into v_workflows, v_states from task t where t.id = any(v_open);
  select json_agg(json_build_object('kind', g.kind_id, 'from', g.state, 'to', :pending, 'count', g.n)) into v_transitions from (
    select t.kind_id, t.state, count(*) as n from task t where t.id = any(v_open) group by t.kind_id, t.state) g;

  perform keep_attempts(v_open, null, null, p_now);
  perform forget_failures(v_open);
  update task t set
    open_gates = g.gates, state = case when g.gates > 0 then :waiting else :pending end,
    updated_at = p_now, ended_at = null, started_at = null, deadline_at = null,
    run_at = case when t.id = any(p_asked) then p_now else greatest(t.run_at, p_now) end,
    reason = null, cause = null, slots = null, lease_id = null,
    success_count = case when p_afresh then 0 else t.success_count end,
    failure_count = case when p_afresh then 0 else t.failure_count end
  from unnest(v_around, v_gates, v_reopens) g(id, gates, reopens)
  where t.id = g.id and g.reopens;
  delete from task_data where task_id = any(v_open);
  -- The gates of children that stayed unchanged close again; one that had not started waits again.
  update task t set open_gates = t.open_gates + g.gates, state = case when t.state = :pending then :waiting else t.state end
  from unnest(v_around, v_gates, v_reopens) g(id, gates, reopens)
  where t.id = g.id and not g.reopens;

  update workflow w set remaining = w.remaining + c.n, succeeded = w.succeeded - c.succeeded, failed = w.failed - c.failed,
    canceled = w.canceled - c.canceled, skipped = w.skipped - c.skipped, failing = w.failing and w.failed > c.failed,
    failed_task = case when w.failed_task <> all(v_open) then w.failed_task end, outcome = null, ended_at = null,
    paused = w.paused and w.ended_at is null
  from (
    select u.id, count(*)::integer as n, count(*) filter (where u.state = :succeeded)::integer as succeeded,
      count(*) filter (where u.state in (:failed, :timed_out, :partially_failed))::integer as failed,
      count(*) filter (where u.state = :canceled)::integer as canceled,
      count(*) filter (where u.state = :disabled)::integer as skipped
    from unnest(v_workflows, v_states) u(id, state) group by u.id) c
  where w.id = c.id;
  perform close_leases(v_leases);
  v_lanes := p_lanes || return_slots(v_slots, v_amounts)
    || yield_slots(array(select t.id from task t where t.id = any(v_regated) and (t.state + 0) = :waiting))
    || make_ready(array(select t.id from task t where t.id = any(v_open) and (t.state + 0) = :pending), p_now);
  return json_build_object('transitions', v_transitions, 'lanes', v_lanes, 'reopened', cardinality(v_open),
    'workflows', (select json_agg(w.id) from (select distinct unnest(v_workflows) as id limit 17) w));
end $$;
