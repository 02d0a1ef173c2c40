-- Reopens ended tasks with everything after them, also what succeeded.
-- Locks: workflows by id, tasks by id, then as reopen_tasks and reopen_in_trees.
-- Callers: store/transitions.ts. Functions without settings have those of retry_after, which calls them.

-- The tasks of batches after some tasks, at any depth and in any state. Left out are those that stay ended, because
-- another required parent of theirs ended badly and stays so, and what is only after them.
create or replace function tasks_after(p_ids uuid[])
returns uuid[] language plpgsql set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  v_reached uuid[];
  v_held uuid[] := '{}';
  v_more uuid[];
begin
  loop
    v_reached := array(
      with recursive reached as (
        select e.child_id as id from unnest(p_ids) o(id) join edge e on e.parent_id = o.id
        where not e.crosses and e.child_id <> all(v_held)
        union
        select e.child_id from reached r join edge e on e.parent_id = r.id
        where not e.crosses and e.child_id <> all(v_held)
      )
      select id from reached except select id from unnest(p_ids) o(id));
    v_more := array(
      select distinct r.id from unnest(v_reached) r(id) join edge e on e.child_id = r.id join task q on q.id = e.parent_id
      where e.requires_success and q.state >= :terminal and not passes(q.policy, q.state)
        and q.id <> all(p_ids) and q.id <> all(v_reached));
    exit when cardinality(v_more) = 0;
    v_held := v_held || v_more;
  end loop;
  return v_reached;
end $$;

-- Those of some tasks of batches that something with an open attempt comes after, and the first such attempt.
create or replace function before_open_attempts(p_ids uuid[], p_after uuid[], out o_held uuid[], out o_open uuid)
language plpgsql set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  v_open uuid[] := array(
    select t.id from task t where t.id = any(p_after)
      and coalesce(t.paused_from, t.state) between :claimed and :expanding order by t.id);
begin
  o_open := v_open[1];
  if o_open is null then return; end if;
  o_held := array(
    with recursive above as (
      select e.parent_id as id from unnest(v_open) u(id) join edge e on e.child_id = u.id where not e.crosses
      union
      select e.parent_id from above a join edge e on e.child_id = a.id where not e.crosses and a.id = any(p_after)
    )
    select id from above intersect select id from unnest(p_ids) o(id));
end $$;

-- Those of some tasks of trees with a generator among what reopens with them that has created nodes, and the first such
-- generator: its nodes may be others the next time.
create or replace function before_generators(p_ids uuid[], out o_held uuid[], out o_generator uuid)
language plpgsql as $$
declare
  v_id uuid;
  v_found uuid;
begin
  foreach v_id in array p_ids loop
    select n.generator_id into v_found from reopening_in_trees(array[v_id]) r
    join task own on own.id = v_id
    cross join lateral (
      select t.generator_id from task t where t.workflow_id = own.workflow_id and t.generator_id = any(r.o_tasks)
      union
      select c.generator_id from container c where c.workflow_id = own.workflow_id and c.generator_id = any(r.o_tasks)) n
    order by n.generator_id limit 1;
    if v_found is not null then
      o_held := o_held || v_id;
      o_generator := coalesce(o_generator, v_found);
    end if;
  end loop;
end $$;

-- Reopens ended tasks with everything after them: in a batch all that depends on them, in a tree all that follows in the
-- sequences around them. Counters of all of it begin again, and results are deleted. Codes: 0 applied, 2 unchanged
-- (pending or waiting), 3 conflict, 6 not found. `obstacle`: the task that made the first conflict of the set.
create or replace function retry_after(p_ids uuid[], p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_codes smallint[];
  v_open uuid[];
  v_in_trees uuid[];
  v_after uuid[] := '{}';
  v_held uuid[];
  v_obstacle uuid;
  v_found record;
  v_lanes integer[] := '{}';
  v_moved jsonb := '{}';
begin
  perform 1 from workflow w where w.id in (select t.workflow_id from task t where t.id = any(p_ids))
  order by w.id for no key update;
  with locked as (
    select t.id, t.state, t.container_id, w.remaining from task t join workflow w on w.id = t.workflow_id
    where t.id = any(p_ids) order by t.id for no key update of t
  )
  select array_agg(case when l.id is null then :result_not_found when l.state in (:waiting, :pending) then :result_unchanged
      when l.state >= :terminal and l.state <> :disabled and (l.container_id is null or l.remaining = 0) then :result_applied
      else :result_conflict end::smallint
      order by r.ord),
    array_agg(l.id) filter (where l.state >= :terminal and l.state <> :disabled and l.container_id is null),
    array_agg(l.id) filter (where l.state >= :terminal and l.state <> :disabled and l.container_id is not null
      and l.remaining = 0)
  into v_codes, v_open, v_in_trees from unnest(p_ids) with ordinality r(id, ord) left join locked l on l.id = r.id;
  if v_in_trees is not null then
    select * into v_found from before_generators(v_in_trees);
    v_obstacle := v_found.o_generator;
    v_codes := refused(v_codes, p_ids, v_found.o_held);
    v_in_trees := array(select id from unnest(v_in_trees) u(id) where id <> all(coalesce(v_found.o_held, '{}')));
  end if;
  -- What is after the tasks is locked before its states are read: a claim may be taking it.
  if v_open is not null then
    v_after := tasks_after(v_open);
    perform 1 from task t where t.id = any(v_after) order by t.id for no key update;
  end if;
  loop
    exit when coalesce(cardinality(v_open), 0) = 0;
    v_after := tasks_after(v_open);
    v_held := array(
      select t.id from task t where t.id = any(v_open) and t.cause is not null and exists (
        select 1 from edge o join task q on q.id = o.parent_id
        where o.child_id = t.id and o.requires_success and q.state >= :terminal and not passes(q.policy, q.state)
          and q.id <> all(v_open) and q.id <> all(v_after)));
    select * into v_found from before_open_attempts(v_open, v_after);
    v_obstacle := coalesce(v_obstacle, v_found.o_open);
    v_held := v_held || coalesce(v_found.o_held, '{}');
    exit when cardinality(v_held) = 0;
    v_codes := refused(v_codes, p_ids, v_held);
    v_open := array(select id from unnest(v_open) u(id) where id <> all(v_held));
  end loop;
  if cardinality(v_in_trees) > 0 then
    select r.o_tasks, r.o_containers into v_found from reopening_in_trees(v_in_trees) r;
    v_lanes := reopen_in_trees(v_found.o_tasks, v_found.o_containers, true, v_now);
  end if;
  if cardinality(v_open) > 0 then
    v_moved := reopen_tasks(
      array(select id from unnest(v_open) u(id) union
        select t.id from task t where t.id = any(v_after) and t.state >= :terminal),
      v_open, v_lanes, true, v_now);
  else
    v_moved := jsonb_build_object('lanes', v_lanes, 'workflows', (
      select json_agg(w.workflow_id) from (select distinct t.workflow_id from task t where t.id = any(v_in_trees) limit 17) w));
  end if;
  return (v_moved || jsonb_build_object('codes', v_codes, 'obstacle', v_obstacle))::json;
end $$;

-- The codes with conflicts in the places of some tasks.
create or replace function refused(p_codes smallint[], p_ids uuid[], p_refused uuid[])
returns smallint[] language sql as $$
  select array_agg(case when q.id = any(p_refused) then :result_conflict::smallint else p_codes[q.ord] end order by q.ord)
  from unnest(p_ids) with ordinality q(id, ord)
$$;

-- Replaces the inputs of tasks that have not started. p_inputs: [{id, input, reads: as in task_spec, or null}].
create or replace function replace_inputs(p_inputs jsonb, p_now timestamptz)
returns integer[] language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[] := array(select x.id from jsonb_to_recordset(p_inputs) as x(id uuid) order by x.id);
  v_waiting bigint[];
begin
  perform 1 from task t where t.id = any(v_ids) order by t.id for no key update;
  select array_agg(distinct r.slot) into v_waiting
  from task t, unnest(t.rule_slots) r(slot) where t.id = any(v_ids) and (t.state + 0) = :pending;
  insert into task_spec (task_id, reads)
  select x.id, x.reads from jsonb_to_recordset(p_inputs) as x(id uuid, reads jsonb)
  where x.reads is not null or exists (select 1 from task_spec s where s.task_id = x.id)
  order by x.id on conflict (task_id) do update set reads = excluded.reads;
  update task t set metadata = x.input, computed = x.reads is not null, has_spec = t.has_spec or x.reads is not null,
    slot_version = -1, updated_at = v_now
  from jsonb_to_recordset(p_inputs) as x(id uuid, input jsonb, reads jsonb)
  where t.id = x.id and (t.state + 0) in (:waiting, :pending);
  delete from dedupe_entry where task_id = any(v_ids);
  perform add_dedupe_entries(v_ids);
  -- A pending task may have been waiting for a slot that its input no longer names.
  return return_slots(v_waiting, array_fill(0::bigint, array[coalesce(cardinality(v_waiting), 0)])) || make_ready(
    array(select t.id from task t where t.id = any(v_ids) and (t.state + 0) = :pending and t.rule_slots is not null), v_now);
end $$;
