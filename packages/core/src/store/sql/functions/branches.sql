-- Branches: nodes that a success disables.
-- Locks: tasks and containers below workflows that the caller holds.
-- Callers: settle; store/flow.ts.

-- Resolves the names that expressions of new nodes read to nodes of their workflows, and returns whether they precede
-- the new nodes. p_reads: [{n: number, workflow_id, container_id, position: place of the new node, names}]. No id:
-- there is no such node, or there are several.
create or replace function find_nodes_before(p_reads jsonb)
returns table (n integer, name text, id uuid, before boolean)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  return query
  with recursive asked as materialized (
    select x.n, x.workflow_id, x.container_id, x.position, a.name
    from jsonb_to_recordset(p_reads) as x(n integer, workflow_id uuid, container_id uuid, position integer, names text[]),
      unnest(x.names) a(name)
  ), named as (
    select a.n, a.name, t.id, t.container_id as parent_id, t.position from asked a
    join task t on t.workflow_id = a.workflow_id and (t.local_id = a.name or t.id::text = lower(a.name))
    union all
    select a.n, a.name, c.id, c.parent_id, c.position from asked a
    join container c on c.workflow_id = a.workflow_id and (c.local_id = a.name or c.id::text = lower(a.name))
  ), above as (
    select distinct a.n, a.container_id as id, a.position as after from asked a
    union all
    select b.n, c.parent_id, c.position from above b join container c on c.id = b.id where c.parent_id is not null
  ), chain as (
    select m.n, m.name, m.id, m.parent_id, m.position from named m where m.parent_id is not null
    union all
    select h.n, h.name, h.id, c.parent_id, c.position from chain h join container c on c.id = h.parent_id
    where c.parent_id is not null
  ), earlier as (
    select distinct h.n, h.name from chain h join above b on b.n = h.n and b.id = h.parent_id and h.position < b.after
    join container c on c.id = b.id and c.mode = :sequential
  ), unique_name as (
    select m.n, m.name, (array_agg(m.id))[1] as id from named m group by m.n, m.name having count(*) = 1
  )
  select a.n, a.name, u.id, e.n is not null
  from asked a left join unique_name u on u.n = a.n and u.name = a.name left join earlier e on e.n = a.n and e.name = a.name;
end $$;

-- Disables nodes that follow tasks in their own sequences, with their descendants, as the tasks' success requests.
-- p_extras: [{id: of the task, disable: [names or ids of nodes]}]; those of p_ids that succeeded count. The caller holds the
-- workflows and has accepted the reports, but the tasks have not ended yet. Unknown names are returned in `ignored`.
create or replace function disable_branches(p_ids uuid[], p_to smallint[], p_extras jsonb, p_now timestamptz,
  out lanes integer[], out unblocked integer, out ignored json)
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_tasks uuid[];
  v_containers uuid[];
  v_causes uuid[];
  v_nodes uuid[];
  v_node_causes uuid[];
  v_reasons text[];
  v_tops uuid[];
  v_skipped uuid[];
  v_workflows uuid[];
  v_walk record;
begin
  lanes := '{}';
  unblocked := 0;
  with asked as (
    select t.id as cause, t.container_id, t.position, left(t.name, 200) as title, k.name
    from jsonb_to_recordset(p_extras) as x(id uuid, disable jsonb)
    join unnest(p_ids, p_to) u(id, target) on u.id = x.id and u.target = :succeeded
    join task t on t.id = x.id, jsonb_array_elements_text(x.disable) k(name)
  ), later as (
    select a.cause, a.name, a.title, n.id, n.is_task, n.state
    from asked a join container c on c.id = a.container_id and c.mode = :sequential
    join lateral (
      select s.id, true as is_task, s.state from task s
      where s.container_id = c.id and s.position > a.position and (s.local_id = a.name or s.id::text = lower(a.name))
      union all
      select s.id, false, s.state from container s
      where s.parent_id = c.id and s.position > a.position and (s.local_id = a.name or s.id::text = lower(a.name))) n on true
  )
  select array_agg(l.id) filter (where l.is_task and l.state + 0 < :terminal),
    array_agg(l.cause) filter (where l.is_task and l.state + 0 < :terminal),
    array_agg(l.id) filter (where not l.is_task and l.state + 0 < :terminal),
    array_agg(l.cause) filter (where not l.is_task and l.state + 0 < :terminal),
    (select json_agg(json_build_object('task_id', a.cause, 'node', a.name)) from asked a
     where not exists (select 1 from later o where o.cause = a.cause and o.name = a.name))
  into v_nodes, v_node_causes, v_containers, v_causes, ignored from later l;
  v_tops := v_containers;

  with recursive below as (
    select u.id, u.cause from unnest(v_containers, v_causes) u(id, cause)
    union
    select k.id, b.cause from below b join container k on k.parent_id = b.id and k.state + 0 < :terminal
  )
  select coalesce(array_agg(b.id), '{}'), coalesce(array_agg(b.cause), '{}') into v_containers, v_causes from below b;
  with skipped as (
    update task t set state = :disabled, ended_at = p_now, updated_at = p_now, cause = s.cause, paused_at = null,
      paused_from = null,
      reason = 'the branch that it is on was not taken by "' || left(d.name, 200) || '" (' || d.id || ')'
    from (
      select u.id, u.cause from unnest(v_nodes, v_node_causes) u(id, cause)
      union
      select k.id, u.cause from unnest(v_containers, v_causes) u(id, cause) join task k on k.container_id = u.id) s
    join task d on d.id = s.cause
    where t.id = s.id and (t.state + 0) < :terminal
    returning t.id, t.workflow_id, t.container_id, t.id = any(v_nodes) as is_top
  )
  select array_agg(k.id), array_agg(k.workflow_id), array_agg(k.container_id) filter (where k.is_top)
  into v_skipped, v_workflows, v_tasks from skipped k;
  update container c set state = :disabled, disabled = c.disabled + c.open, open = 0, ended_at = p_now, cause = s.cause,
    reason = 'the branch that it is on was not taken by "' || left(d.name, 200) || '" (' || d.id || ')'
  from unnest(v_containers, v_causes) s(id, cause) join task d on d.id = s.cause where c.id = s.id;
  v_tasks := coalesce(v_tasks, '{}') || array(select c.parent_id from container c where c.id = any(v_tops));
  if cardinality(v_tasks) > 0 then
    perform count_children(v_tasks, array_fill(:disabled::smallint, array[cardinality(v_tasks)]),
      array_fill(:fail_on_failure::smallint, array[cardinality(v_tasks)]));
  end if;
  if v_skipped is null then return; end if;
  -- Containers kept open by generators among them may end; the sequences themselves still wait for the tasks that
  -- decided.
  select * into v_walk from advance_containers(release_container_generators(v_skipped), '{}', p_now);
  perform count_skipped(v_workflows || v_walk.workflows, p_now);
  lanes := v_walk.lanes;
  unblocked := v_walk.unblocked;
end $$;
