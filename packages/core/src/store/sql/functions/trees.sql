-- Stores workflows that are trees, and nodes that generators create.
-- Locks: workflows by id, then tasks by id, then containers below a held workflow.
-- Callers: store/trees.ts; settle (begin_expansion).

-- Stores the workflows of trees that do not exist yet; returns their ids. Waits for concurrent inserts of the same
-- ones.
create or replace function insert_trees(p_workflows jsonb, p_now timestamptz)
returns uuid[] language plpgsql as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_new uuid[];
begin
  with stored as (
    insert into workflow (id, name, linked, is_tree, task_count, remaining, succeeded, failed, canceled, skipped, kinds,
      job_run_id, traceparent, created_at, ended_at)
    select w.id, w.name, true, true, 0, 0, 0, 0, 0, 0, '{}', w.job_run_id, w.traceparent, v_now, v_now
    from jsonb_to_recordset(p_workflows) as w(id uuid, name text, job_run_id uuid, traceparent text)
    where not exists (select 1 from archive_workflow a where a.id = w.id)
    order by w.id on conflict (id) do nothing returning id
  )
  select coalesce(array_agg(id), '{}') into v_new from stored;
  return v_new;
end $$;

-- Returns the place of each new node of a generator. p_nodes: [{n: number, id: of the node, generator_id, attempt: the
-- generator's, or null, parent: container, by id or name, or null}]. Locks the workflows. Codes: 0 to be created, 1 exists, 2 no
-- such generator, 3 the generator has ended, 4 no such container, 5 the container has ended, 6 the attempt is not the
-- generator's. `adopts`: it exists, and an earlier attempt of the generator created it.
create or replace function place_nodes(p_nodes jsonb)
returns table (n integer, code integer, workflow_id uuid, container_id uuid, "position" integer, opens boolean,
  beside boolean, begun boolean, attempt integer, adopts boolean, detail text)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  perform 1 from workflow w where w.id in (
    select t.workflow_id from jsonb_to_recordset(p_nodes) as x(generator_id uuid) join task t on t.id = x.generator_id)
  order by w.id for no key update;
  return query
  with asked as (
    select x.n, x.id, x.parent, g.id as generator_id, g.state as generator_state, g.attempt, g.workflow_id, g.container_id as own,
      not g.sealed as begun, x.attempt is not null and x.attempt <> g.attempt as stale,
      -- Looked up one by one, since for "exists" the planner may hash the whole table.
      coalesce((select true from task t where t.id = x.id limit 1), (select true from container k where k.id = x.id limit 1),
        (select true from archive_task t where t.id = x.id limit 1),
        (select true from archive_container k where k.id = x.id limit 1), false) as there
    from jsonb_to_recordset(p_nodes) as x(n integer, id uuid, generator_id uuid, attempt integer, parent text)
    left join task g on g.id = x.generator_id and g.container_id is not null
  ), placed as (
    select a.*, c.id as into_id, c.state as container_state, c.mode, c.children, c.reason
    from asked a left join lateral (
      select k.* from (
        select 0 as rank, c.* from container c
        where a.parent is not null and c.workflow_id = a.workflow_id and c.local_id = a.parent
        union all
        select 1, c.* from container c
        -- By its id alone, since the planner may consider the workflow's index as good.
        where (c.workflow_id = a.workflow_id) is true and c.id = case when a.parent is null then a.own
          when a.parent ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then a.parent::uuid end) k
      where a.generator_id is not null order by k.rank, k.id limit 1) c on true
  ), judged as (
    select p.*, case
        when p.there then :node_exists when p.generator_id is null then :node_without_generator
          when p.stale then :node_stale_attempt
        when p.generator_state >= :terminal then :node_generator_ended
        when p.into_id is null then :node_without_container
          when p.container_state >= :terminal then :node_container_ended else :node_stored end as code
    from placed p
  )
  select j.n, j.code, j.workflow_id, j.into_id,
    case when j.code = :node_stored then
      j.children + (row_number() over (partition by j.into_id, j.code order by j.n))::integer - 1 end,
    j.container_state = :running and j.mode = :parallel, j.into_id <> j.own, j.begun, j.attempt,
    j.code = :node_exists and not j.stale and j.generator_state < :terminal and coalesce(
      (select t.generator_attempt is distinct from j.attempt from task t
       where t.id = j.id and t.generator_id = j.generator_id limit 1),
      (select k.generator_attempt is distinct from j.attempt from container k
       where k.id = j.id and k.generator_id = j.generator_id limit 1), false),
    j.reason
  from judged j order by j.n;
end $$;

-- Stores nodes of trees whose workflows the caller holds, and advances the trees. Returns what settle returns.
create or replace function store_nodes(p_nodes new_nodes, p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_lanes integer[];
  v_walk record;
begin
  update workflow w set task_count = w.task_count + c.tasks, remaining = w.remaining + c.open,
    skipped = w.skipped + c.tasks - c.open, kinds = add_kinds(w.kinds, c.kinds), outcome = null,
    ended_at = case when w.remaining + c.open = 0 then coalesce(w.ended_at, v_now) end
  from json_to_recordset(p_nodes.counts) as c(workflow_id uuid, tasks integer, open integer, kinds integer[])
  where w.id = c.workflow_id;
  insert into container (id, workflow_id, parent_id, position, mode, policy, local_id, children, open, disabled,
    generator_id, generator_attempt, created_at)
  select c.id, c.workflow_id, c.parent_id, c.position, c.mode, c.policy, c.local_id, c.children, c.children - c.disabled,
    c.disabled, c.generator_id, c.generator_attempt, v_now
  from json_to_recordset(p_nodes.containers) as c(id uuid, workflow_id uuid, parent_id uuid, position integer,
    mode smallint, policy smallint, local_id text, children integer, disabled integer, generator_id uuid,
    generator_attempt integer);
  v_lanes := store_tasks(p_nodes.tasks, p_nodes.specs, p_nodes.kinds, v_now, null, null);
  if p_nodes.parents is not null then
    update container k set children = k.children + x.children, open = k.open + x.children - x.disabled,
      disabled = k.disabled + x.disabled
    from json_to_recordset(p_nodes.parents) as x(id uuid, children integer, disabled integer) where k.id = x.id;
  end if;
  if p_nodes.generators is not null then perform count_created(p_nodes.generators); end if;
  if p_nodes.container_generators is not null then
    with kept as (
      insert into container_generator (task_id, container_id)
      select (f.value ->> 0)::uuid, (f.value ->> 1)::uuid from json_array_elements(p_nodes.container_generators) f
      on conflict (task_id, container_id) do nothing returning container_id
    )
    update container c set open_generators = c.open_generators + k.n
    from (select container_id, count(*)::integer as n from kept group by container_id) k where c.id = k.container_id;
  end if;
  -- A paused workflow accepts nodes, but starts none.
  if exists (select 1 from json_to_recordset(p_nodes.counts) as c(workflow_id uuid)
      join workflow w on w.id = c.workflow_id where w.paused) then
    with paused as (
      update task t set state = :paused, paused_from = t.state, paused_at = v_now
      from json_to_recordset(p_nodes.tasks) as x(id uuid, workflow_id uuid)
      join workflow w on w.id = x.workflow_id and w.paused
      where t.id = x.id and (t.state + 0) in (:waiting, :pending) returning t.id
    )
    insert into paused_task (task_id, paused_at) select id, v_now from paused on conflict do nothing;
  end if;
  select * into v_walk from advance_containers(p_nodes.touched, p_nodes.opened, v_now);
  perform count_skipped(v_walk.workflows, v_now);
  perform set_outcomes(array(select c.workflow_id from json_to_recordset(p_nodes.counts) as c(workflow_id uuid)));
  insert into finalization (workflow_id, created_at)
  select w.id, v_now from json_to_recordset(p_nodes.counts) as c(workflow_id uuid) join workflow w on w.id = c.workflow_id
  where w.remaining = 0 on conflict do nothing;
  return json_build_object('lanes', v_lanes || v_walk.lanes, 'unblocked', v_walk.unblocked, 'now',
    (extract(epoch from v_now) * 1000)::bigint,
    'ended', (select json_agg(w.id) from json_to_recordset(p_nodes.counts) as c(workflow_id uuid)
      join workflow w on w.id = c.workflow_id where w.remaining = 0 and w.ended_at = v_now and w.traceparent is not null),
    'workflows', (select json_agg(x.workflow_id) from (
      select c.workflow_id from json_to_recordset(p_nodes.counts) as c(workflow_id uuid) limit 17) x));
end $$;

-- Counts nodes created by generator attempts: [{task_id, attempt, created}]. A new attempt begins at zero.
create or replace function count_created(p_generators json)
returns void language sql as $$
  insert into generator (task_id, attempt, created)
  select x.task_id, x.attempt, x.created
  from json_to_recordset(p_generators) as x(task_id uuid, attempt integer, created integer)
  on conflict (task_id) do update set attempt = excluded.attempt,
    created = excluded.created + case when generator.attempt = excluded.attempt then generator.created else 0 end
$$;

-- Assigns nodes that were created again to the current attempts of their generators.
-- p_nodes: [{id, attempt: the generator's}]; their workflows are locked by the caller.
create or replace function adopt_nodes(p_nodes json)
returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_ids uuid[] := array(select x.id from json_to_recordset(p_nodes) as x(id uuid));
  v_counts json;
begin
  perform 1 from task t where t.id = any(v_ids) order by t.id for no key update;
  with tasks as (
    update task t set generator_attempt = x.attempt from json_to_recordset(p_nodes) as x(id uuid, attempt integer)
    where t.id = x.id and t.id = any(v_ids) returning t.generator_id, x.attempt
  ), containers as (
    update container c set generator_attempt = x.attempt from json_to_recordset(p_nodes) as x(id uuid, attempt integer)
    where c.id = x.id and c.id = any(v_ids) returning c.generator_id, x.attempt
  )
  select json_agg(m) into v_counts from (
    select o.generator_id as task_id, o.attempt, count(*) as created
    from (select * from tasks union all select * from containers) o
    group by o.generator_id, o.attempt order by o.generator_id) m;
  perform count_created(v_counts);
end $$;

-- Ends generators whose announced nodes all exist; returns what settle returns, or null if there are none.
create or replace function complete_generators(p_limit integer, p_jitter double precision, p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[];
  v_set settling;
begin
  v_ids := array(
    select g.task_id from generator g join task t on t.id = g.task_id
    where g.open and g.created >= g.expected and t.state + 0 = :expanding order by g.task_id limit p_limit);
  if cardinality(v_ids) = 0 then
    perform close_generators();
    return null;
  end if;
  perform lock_workflows(v_ids);
  select array_agg(l.id), array_agg(l.workflow_id), array_agg(l.lease_id), array_agg(l.container_id),
    bool_or(l.has_spec), bool_or(l.has_actions), bool_or(l.slots is not null),
    json_agg(json_build_object('kind', l.kind_id, 'from', :expanding, 'to', :succeeded,
      'durations_ms', json_build_array((extract(epoch from v_now - l.started_at) * 1000)::bigint)))
  into v_set.ids, v_set.workflows, v_set.leases, v_set.containers, v_set.has_spec, v_set.has_actions, v_set.holds,
    v_set.transitions
  from (select * from task t where t.id = any(v_ids) and (t.state + 0) = :expanding order by t.id for no key update) l;
  if v_set.ids is null then return null; end if;
  update generator set open = false where task_id = any(v_set.ids);
  v_set.targets := array_fill(:succeeded::smallint, array[cardinality(v_set.ids)]);
  v_set.linked := true;
  v_set.lanes := '{}';
  return settle_accepted(v_set, v_set.ids, p_jitter, v_now);
end $$;

-- Generators that ended in another way are not checked again. Locked ones are skipped, since nothing depends on them.
create or replace function close_generators()
returns void language sql set plan_cache_mode = force_generic_plan as $$
  update generator set open = false where task_id in (
    select g.task_id from generator g left join task t on t.id = g.task_id
    where g.open and not coalesce(t.state + 0 = :expanding
      or t.paused_from = :expanding, false) for update of g skip locked)
$$;

-- Returns the accepted successes of generators whose announced nodes do not all exist yet: they are expanding.
-- p_extras: [{id, expected_created: nodes announced}].
create or replace function begin_expansion(p_ids uuid[], p_to smallint[], p_extras jsonb, p_now timestamptz)
returns uuid[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_waiting uuid[];
begin
  insert into generator (task_id, expected, attempt)
  select x.id, x.expected_created, t.attempt from jsonb_to_recordset(p_extras) as x(id uuid, expected_created integer)
  join unnest(p_ids, p_to) u(id, target) on u.id = x.id and u.target = :succeeded join task t on t.id = x.id
    where x.expected_created is not null
  on conflict (task_id) do update set expected = excluded.expected, attempt = excluded.attempt,
    created = case when generator.attempt = excluded.attempt then generator.created else 0 end;
  v_waiting := array(
    select g.task_id from jsonb_to_recordset(p_extras) as x(id uuid, expected_created integer)
    join unnest(p_ids, p_to) u(id, target) on u.id = x.id and u.target = :succeeded
    join generator g on g.task_id = x.id where x.expected_created is not null and g.created < g.expected);
  if cardinality(v_waiting) > 0 then
    update generator set open = true where task_id = any(v_waiting);
    update task t set state = :expanding, updated_at = p_now,
      deadline_at = t.deadline_at + coalesce(p_now - t.paused_at, interval '0'),
      paused_at = null, paused_from = null
    where t.id = any(v_waiting) and (t.state + 0) in (:claimed, :running, :paused);
    -- One that reports before its start was recorded has no deadline yet.
    update task t set deadline_at = p_now + t.timeout_secs * interval '1 second', started_at = coalesce(t.started_at, p_now)
    where t.id = any(v_waiting) and t.deadline_at is null;
    perform check_leases_sooner(v_waiting);
  end if;
  return v_waiting;
end $$;
