-- Reads what expressions refer to: states and results of other nodes, and the data of workflows.
-- Locks: none.
-- Callers: store/upstream.ts.

-- Reads the data of expressions, each item once and within a memory budget. p_asks: [{w: workflow, nodes: {name:
-- id}, data: [names]}], answered in their order; `ask` is the place of one among them, from 0. What comes back:
--   ask: this one is answered; value: what it asked for
--   excess: this one reads more than p_ask_bytes of results and data; value: {what it reads: bytes}, as far as they
--     were counted
--   later: this one, and those after it, would come to more than p_bytes with those before it, and wait for the next
--     call
--   task, container, data: what was read, by its id; data by its workflow's
-- The first is always answered, so repeated calls with the rest terminate.
create or replace function read_upstream(p_asks jsonb, p_ask_bytes bigint, p_bytes bigint)
returns table (what text, ask integer, id uuid, value jsonb)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_ask record;
  v_item record;
  -- The total of all counted items. What is too much for one counts as well, since counting takes time.
  v_sizes jsonb := '{}';
  v_counted bigint := 0;
  v_keys text[];
  v_labels text[];
  v_own bigint[];
  v_sum bigint;
  v_fresh bigint;
  v_bytes bigint;
  v_taken integer[] := '{}';
begin
  for v_ask in
    select (a.ord - 1)::integer as ask, (a.value ->> 'w')::uuid as workflow_id, a.value
    from jsonb_array_elements(p_asks) with ordinality a(value, ord) order by a.ord
  loop
    v_keys := '{}';
    v_labels := '{}';
    v_own := '{}';
    v_sum := 0;
    v_fresh := 0;
    for v_item in
      select n.value as key, 'nodes.' || n.key as label, n.value::uuid as node, null as name
      from jsonb_each_text(v_ask.value -> 'nodes') n
      union all
      select v_ask.workflow_id || '.' || d.value, 'data.' || d.value, null, d.value
      from jsonb_array_elements_text(v_ask.value -> 'data') d(value)
    loop
      continue when v_item.key = any(v_keys);
      v_bytes := (v_sizes ->> v_item.key)::bigint;
      if v_bytes is null then
        v_bytes := case when v_item.node is null then data_bytes(v_ask.workflow_id, v_item.name)
          else result_bytes(v_item.node) end;
        v_fresh := v_fresh + v_bytes;
      end if;
      v_keys := v_keys || v_item.key;
      v_labels := v_labels || v_item.label;
      v_own := v_own || v_bytes;
      v_sum := v_sum + v_bytes;
      exit when v_sum > p_ask_bytes;
    end loop;
    if v_sum <= p_ask_bytes and v_counted + v_fresh > p_bytes then
      return query select 'later', v_ask.ask, null::uuid, null::jsonb;
      exit;
    end if;
    v_sizes := v_sizes || jsonb_object(v_keys, v_own::text[]);
    v_counted := v_counted + v_fresh;
    if v_sum <= p_ask_bytes then
      v_taken := v_taken || v_ask.ask;
      return query select 'ask', v_ask.ask, null::uuid, v_ask.value;
    else
      return query select 'excess', v_ask.ask, null::uuid, (
        select jsonb_object_agg(l.label, l.bytes) from unnest(v_labels, v_own) l(label, bytes));
    end if;
  end loop;

  return query select * from read_asked(p_asks, v_taken);
end $$;

-- Reads what these of the asks ask for, each item once.
create or replace function read_asked(p_asks jsonb, p_taken integer[])
returns table (what text, ask integer, id uuid, value jsonb)
language plpgsql stable as $$
#variable_conflict use_column
declare
  v_nodes uuid[];
begin
  v_nodes := array(
    select distinct n.value::uuid from unnest(p_taken) k(ask), jsonb_each_text(p_asks -> k.ask -> 'nodes') n);
  return query
    select 'task', null::integer, t.id,
      jsonb_build_object('state', t.state, 'reason', t.reason, 'result', coalesce(d.data, a.data))
    from task_all t left join task_data d on d.task_id = t.id left join archive_task_data a on a.task_id = t.id
    where t.id = any(v_nodes);
  return query
    select 'container', null::integer, c.id, jsonb_build_object('state', c.state, 'reason', c.reason, 'counts',
      jsonb_build_object('children', c.children, 'succeeded', c.succeeded, 'failed', c.failed, 'timed_out', c.timed_out,
        'partially_failed', c.partially_failed, 'disabled', c.disabled))
    from container_all c where c.id = any(v_nodes);
  -- Of values the latest is kept, of lists all parts, in the order in which they were first stored.
  return query
    select 'data', null::integer, n.workflow_id, jsonb_build_object('name', n.name, 'list', h.list, 'data', case when h.list
      then (select jsonb_agg(d.data order by d.created_at, d.task_id) from task_collection_data d
        where d.workflow_id = n.workflow_id and d.name = n.name and d.list)
      else (select d.data from task_collection_data d where d.workflow_id = n.workflow_id and d.name = n.name
        order by d.updated_at desc, d.task_id desc limit 1) end)
    from (
      select distinct (p_asks -> k.ask ->> 'w')::uuid as workflow_id, d.value as name
      from unnest(p_taken) k(ask), jsonb_array_elements_text(p_asks -> k.ask -> 'data') d(value)) n
    cross join lateral (
      select bool_or(d.list) as list from task_collection_data d where d.workflow_id = n.workflow_id and d.name = n.name) h
    where h.list is not null;
end $$;

-- Size of a task's result as JSON; 0 if it has none, or is a container.
create or replace function result_bytes(p_task uuid) returns bigint
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return coalesce((select octet_length(d.data::text) from task_data d where d.task_id = p_task),
    (select octet_length(a.data::text) from archive_task_data a where a.task_id = p_task), 0);
end $$;

-- Size of `data.NAME` as JSON: of lists all parts, of values the latest.
create or replace function data_bytes(p_workflow uuid, p_name text) returns bigint
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return (
    select coalesce(sum(octet_length(d.data::text)) filter (where d.list), (
      select octet_length(o.data::text) from task_collection_data o where o.workflow_id = p_workflow and o.name = p_name
      order by o.updated_at desc, o.task_id desc limit 1), 0)
    from task_collection_data d where d.workflow_id = p_workflow and d.name = p_name);
end $$;

-- read_upstream for the expressions in the inputs of some tasks, with the names of their workflows. `ask` is the place
-- of a task in p_tasks.
create or replace function read_for_inputs(p_tasks uuid[], p_task_bytes bigint, p_bytes bigint)
returns table (what text, ask integer, id uuid, value jsonb)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  return query select u.what, u.ask, u.id, u.value from read_upstream((
    select jsonb_agg(jsonb_build_object('w', t.workflow_id, 'nodes', coalesce(s.reads -> 'nodes', '{}'),
      'data', coalesce(s.reads -> 'data', '[]')) order by k.ord)
    from unnest(p_tasks) with ordinality k(id, ord)
    left join task t on t.id = k.id left join task_spec s on s.task_id = t.id), p_task_bytes, p_bytes) u;
  return query select 'workflow', null::integer, w.id, to_jsonb(w.name)
    from workflow w where w.id in (select t.workflow_id from task t where t.id = any(p_tasks));
end $$;

-- read_upstream for templates, which read nodes of their workflows by whatever names they have. p_asks: [{w: workflow,
-- names: [of nodes, or ids], data: [names]}]. Unknown names are omitted.
create or replace function read_for_templates(p_asks jsonb, p_ask_bytes bigint, p_bytes bigint)
returns table (what text, ask integer, id uuid, value jsonb)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_asks jsonb;
begin
  with asked as materialized (
    select a.ord, (a.value ->> 'w')::uuid as workflow_id, a.value -> 'data' as data, a.value -> 'names' as names
    from jsonb_array_elements(p_asks) with ordinality a(value, ord)
  ), wanted as materialized (
    -- All names of a workflow together, so that its nodes are scanned once.
    select a.workflow_id, array_agg(distinct n.value) as names,
      array_agg(distinct lower(n.value)) filter (where length(n.value) = 36) as ids
    from asked a, jsonb_array_elements_text(a.names) n(value) group by a.workflow_id
  ), found as materialized (
    select t.workflow_id, t.local_id, t.id from wanted m join task_all t
      on t.workflow_id = m.workflow_id and (t.local_id = any(m.names) or t.id::text = any(m.ids))
    union all
    select c.workflow_id, c.local_id, c.id from wanted m join container_all c
      on c.workflow_id = m.workflow_id and (c.local_id = any(m.names) or c.id::text = any(m.ids))
  )
  select jsonb_agg(jsonb_build_object('w', a.workflow_id, 'data', a.data, 'nodes', coalesce((
    select jsonb_object_agg(n.value, f.id) from jsonb_array_elements_text(a.names) n(value)
    join found f on f.workflow_id = a.workflow_id and (f.local_id = n.value or f.id::text = lower(n.value))), '{}'))
    order by a.ord)
  into v_asks from asked a;
  return query select u.what, u.ask, u.id, u.value from read_upstream(v_asks, p_ask_bytes, p_bytes) u;
end $$;
