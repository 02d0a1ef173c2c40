-- Reopens ended tasks of trees, with what follows them.
-- Locks: the caller holds the workflows; tasks by id, then as advance_containers.
-- Callers: retry_tasks. Functions without settings have those of retry_in_trees, which calls them.

-- Whether a node is on a branch that was not taken, and the task that decided so is not among p_reopened.
create or replace function stays_untaken(p_state smallint, p_cause uuid, p_reopened uuid[])
returns boolean language sql stable as $$
  select p_state = :disabled and p_cause is not null and p_cause <> all(p_reopened)
    and exists (select 1 from task d where d.id = p_cause and d.state + 0 = :succeeded)
$$;

-- Reopens ended tasks of trees with everything that follows them in their sequences, since that worked on their results
-- or was skipped because of them. Nodes disabled by the submitter stay so, and so do branches that were not taken,
-- unless the tasks that decided are reopened too; those are reopened if anything on such a branch is. The caller holds
-- the workflows. Returns the lanes where tasks became ready.
create or replace function retry_in_trees(p_ids uuid[], p_now timestamptz)
returns integer[] language sql as $$
  select reopen_in_trees(r.o_tasks, r.o_containers, false, p_now) from reopening_in_trees(p_ids) r
$$;

-- Reopens tasks and containers of trees, as reopening_in_trees returned them. The caller holds the workflows.
-- p_afresh: whether the counters of the tasks begin again. Returns the lanes where tasks became ready.
create or replace function reopen_in_trees(p_tasks uuid[], p_containers uuid[], p_afresh boolean, p_now timestamptz)
returns integer[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_tasks uuid[] := p_tasks;
  v_containers uuid[] := p_containers;
  v_leases bigint[];
  v_slots bigint[];
  v_amounts bigint[];
  v_workflows uuid[];
  v_lanes integer[];
  v_walk record;
begin
  perform 1 from task where id = any(v_tasks) order by id for no key update;
  select array_agg(t.lease_id) into v_leases from task t where t.id = any(v_tasks) and t.lease_id is not null;
  select h.slots, h.amounts into v_slots, v_amounts from held_slots(v_tasks) h;
  perform keep_attempts(v_tasks, null, null, p_now);
  perform forget_failures(v_tasks);
  update task t set state = :waiting, sealed = true, open_gates = 1, updated_at = p_now, ended_at = null, started_at = null,
    deadline_at = null, run_at = null, reason = null, cause = null, slots = null, lease_id = null,
    success_count = case when p_afresh then 0 else t.success_count end,
    failure_count = case when p_afresh then 0 else t.failure_count end
  where t.id = any(v_tasks);
  delete from task_data where task_id = any(v_tasks);
  update generator set expected = null, open = false where task_id = any(v_tasks);
  update container_generator set done = false where task_id = any(v_tasks);
  perform reopen_containers(v_containers);
  select array_agg(distinct t.workflow_id) into v_workflows from task t where t.id = any(v_tasks);
  update workflow w set remaining = n.open, succeeded = n.succeeded, failed = n.failed, canceled = n.canceled,
    skipped = n.skipped, failing = n.failed > 0, failed_task = null, outcome = null, ended_at = null, paused = false
  from (select t.workflow_id, count(*) filter (where t.state < :terminal)::integer as open,
          count(*) filter (where t.state = :succeeded)::integer as succeeded,
          count(*) filter (where t.state in (:failed, :timed_out, :partially_failed))::integer as failed,
          count(*) filter (where t.state = :canceled)::integer as canceled,
          count(*) filter (where t.state = :disabled)::integer as skipped
        from task t where t.workflow_id = any(v_workflows) group by t.workflow_id) n
  where w.id = n.workflow_id;
  delete from finalization where workflow_id = any(v_workflows);
  -- What follows is another run, whose end is notified again.
  insert into workflow_notice as n (workflow_id, run) select u.id, 1 from unnest(v_workflows) u(id) order by u.id
  on conflict (workflow_id) do update set run = n.run + 1;
  perform close_leases(v_leases);
  v_lanes := return_slots(v_slots, v_amounts);
  select * into v_walk from advance_containers(v_containers, v_workflows, p_now);
  perform count_skipped(v_walk.workflows, p_now);
  return v_lanes || v_walk.lanes;
end $$;

-- Returns what reopens with these tasks of trees: all tasks, and all containers.
create or replace function reopening_in_trees(p_ids uuid[], out o_tasks uuid[], out o_containers uuid[])
language plpgsql as $$
declare
  v_filled uuid[];
  v_more uuid[];
begin
  o_tasks := p_ids;
  -- A generator that runs again may fill other containers again, which have successors too.
  loop
    v_filled := array(select distinct f.container_id from container_generator f where f.task_id = any(o_tasks));
    with recursive above as (
      select t.container_id as id, t.position as after from task t where t.id = any(o_tasks)
      union
      select c.parent_id, c.position from container c where c.id = any(v_filled)
      union
      select c.parent_id, c.position from above a join container c on c.id = a.id
    ), ancestor as (
      select a.id, min(a.after) as after from above a where a.id is not null group by a.id
    ), later as (
      select k.id from ancestor a join container c on c.id = a.id and c.mode = :sequential
      join container k on k.parent_id = a.id and k.position > a.after and not stays_untaken(k.state, k.cause, o_tasks)
      union
      select k.id from later l join container k on k.parent_id = l.id and not stays_untaken(k.state, k.cause, o_tasks)
    )
    select array(
        select t.id from ancestor a join container c on c.id = a.id and c.mode = :sequential
        join task t on t.container_id = a.id and t.position > a.after
        where (t.state <> :disabled or t.cause is not null) and not stays_untaken(t.state, t.cause, o_tasks)
        union
        select t.id from later l join task t on t.container_id = l.id
        where (t.state <> :disabled or t.cause is not null) and not stays_untaken(t.state, t.cause, o_tasks)
        union
        select c.cause from (select id from ancestor union select u.id from unnest(v_filled) u(id)) o
        join container c on c.id = o.id and c.state + 0 = :disabled join task d on d.id = c.cause
          and d.state + 0 = :succeeded
        union
        select u.id from unnest(o_tasks) u(id)),
      array(select id from ancestor union select id from later union select u.id from unnest(v_filled) u(id))
    into v_more, o_containers;
    exit when cardinality(v_more) = cardinality(o_tasks);
    o_tasks := v_more;
  end loop;
end $$;

-- Reopens containers; their children are counted again.
create or replace function reopen_containers(p_ids uuid[])
returns void language plpgsql as $$
begin
  update container c set state = :waiting, cursor = -1, stopped = false, ended_at = null, cause = null, reason = null,
    children = n.children, open = n.open, succeeded = n.succeeded, failed = n.failed, timed_out = n.timed_out,
    partially_failed = n.partially_failed, disabled = n.disabled, tolerated = n.tolerated,
    open_generators = (select count(*) from container_generator f where f.container_id = c.id and not f.done)
  from (
    select r.id, count(m.state)::integer as children,
      count(*) filter (where m.state < :terminal)::integer as open,
      count(*) filter (where m.state = :succeeded)::integer as succeeded,
      count(*) filter (where m.state in (:failed, :canceled))::integer as failed,
      count(*) filter (where m.state = :timed_out)::integer as timed_out,
      count(*) filter (where m.state = :partially_failed)::integer as partially_failed,
      count(*) filter (where m.state = :disabled)::integer as disabled,
      count(*) filter (where m.state between :failed and :canceled and passes(m.policy, m.state))::integer as tolerated
    from unnest(p_ids) r(id)
    left join lateral (
      select t.state, t.policy from task t where t.container_id = r.id
      union all
      select case when k.id = any(p_ids) then :waiting::smallint else k.state end, k.policy
      from container k where k.parent_id = r.id) m on true
    group by r.id) n
  where c.id = n.id;
end $$;
