-- Stores workflows and tasks, and finds duplicates.
-- Locks: the kinds of the tasks, shared, by number; the rows it inserts. The caller has locked the parents of linked tasks.
-- Callers: store/submissions.ts, store/claims.ts; store_nodes (trees.sql).

-- Inserts validated workflows with their tasks; returns the lanes where tasks became ready.
create or replace function submit_tasks(p_workflows jsonb, p_tasks json, p_specs json, p_edges json, p_kinds integer[],
  p_now timestamptz)
returns integer[] language plpgsql as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
  insert into workflow (id, name, linked, task_count, remaining, traceparent, created_at, ended_at)
  select w.id, w.name, w.linked, w.task_count, w.remaining, w.traceparent, v_now,
    case when w.remaining = 0 then v_now end
  from jsonb_to_recordset(p_workflows)
    as w(id uuid, name text, linked boolean, task_count integer, remaining integer, traceparent text);
  if p_edges is not null then
    insert into edge (parent_id, child_id, requires_success, crosses, relayed)
    select e.p, e.c, e.r, coalesce(e.x, false), coalesce(e.d, false)
    from json_to_recordset(p_edges) as e(p uuid, c uuid, r boolean, x boolean, d boolean);
  end if;
  return store_tasks(p_tasks, p_specs, p_kinds, v_now);
end $$;

-- Inserts tasks of stored workflows; returns the lanes where tasks became ready. Keys are short since every task
-- repeats them. p_tasks: i id, w workflow, k kind, n name, l local id, t timeout, b deadline basis, p priority,
-- d delay in ms, m metadata, e expected count, g open gates, x linked, h starts by a webhook, nr needs a runner, s has
-- a spec, a has actions, r rules [[shape, max], ...]; z, f and c: state, reason and cause of one that ended at once,
-- because a stored parent had or because it is disabled. In trees: cc container, q position, y policy, sl sealed, gn
-- may generate, gg generator, ga its attempt, v computed input.
create or replace function store_tasks(p_tasks json, p_specs json, p_kinds integer[], p_now timestamptz)
returns integer[] language plpgsql as $$
declare
  v_now timestamptz := p_now;
  v_ruled boolean;
  v_deduped boolean;
  v_lanes integer[];
begin
  perform pg_advisory_xact_lock_shared(7201, k) from (select unnest(p_kinds) as k order by 1) o;
  v_ruled := exists (select 1 from shape where kind_id = any(p_kinds));
  v_deduped := exists (select 1 from dedupe_shape where kind_id = any(p_kinds));

  if p_specs is not null then
    insert into task_spec (task_id, actions, rules, dedupe, retry, reads, requirements)
    select s.i, s.actions, s.rules, s.dedupe, s.retry, s.reads, s.requirements
    from json_to_recordset(p_specs)
      as s(i uuid, actions jsonb, rules jsonb, dedupe jsonb, retry jsonb, reads jsonb, requirements jsonb);
  end if;
  with stored as (
    insert into task (id, workflow_id, kind_id, state, priority, open_gates, timeout_secs, deadline_basis, linked,
      has_spec, has_actions, starts_by_webhook, slot_version, expected_count, created_at, updated_at, run_at, ended_at, cause, wants,
      rule_slots, rule_max, name, local_id, reason, metadata, container_id, position, policy, sealed, generates, generator_id,
      generator_attempt, computed, needs_runner)
    select t.i, t.w, t.k, coalesce(t.z, case when t.g > 0 then :waiting else :pending end), coalesce(t.p, 0),
      coalesce(t.g, 0), t.t, coalesce(t.b, 0), coalesce(t.x, false), coalesce(t.s, false), coalesce(t.a, false), coalesce(t.h, false),
      coalesce(sv.version, 0), t.e, v_now, v_now, case when t.d > 0 then v_now + t.d * interval '1 millisecond' end,
      case when t.z >= :terminal then v_now end, t.c, sv.wants, rs.slots, rs.maxima, t.n, t.l, t.f, coalesce(t.m, '{}'),
      t.cc, t.q, coalesce(t.y, 0), coalesce(t.sl, false), coalesce(t.gn, false), t.gg, t.ga, coalesce(t.v, false),
      coalesce(t.nr, false)
    from json_to_recordset(p_tasks) as t(i uuid, w uuid, k integer, n text, l text, t integer, b smallint, p smallint,
      d bigint, m jsonb, e bigint, g integer, x boolean, h boolean, s boolean, a boolean, r jsonb, z smallint, f text, c uuid,
      cc uuid, q integer, y smallint, sl boolean, gn boolean, gg uuid, ga integer, v boolean, nr boolean)
    left join lateral (
      select kind.slot_version as version, (
        select array_agg(coalesce(sh.whole_slot, slot_of(sh.id, sh.type, sh.fields, coalesce(t.m, '{}'))))
        from shape sh where sh.kind_id = t.k) as wants
      from kind where kind.id = t.k) sv on v_ruled
    left join lateral (
      select array_agg(coalesce(sh.whole_slot, slot_of(sh.id, sh.type, sh.fields, coalesce(t.m, '{}'))) order by rule.ord)
          as slots,
        array_agg((rule.value ->> 1)::bigint order by rule.ord) as maxima
      from jsonb_array_elements(t.r) with ordinality rule(value, ord)
      join shape sh on sh.id = (rule.value ->> 0)::integer) rs on t.r is not null
    returning id, state, run_at, -priority as rank, lane_of(starts_by_webhook, needs_runner, kind_id) as lane
  ), later as (
    insert into delayed (run_at, task_id) select t.run_at, t.id from stored t where t.state = :pending
      and t.run_at is not null
  ), now as (
    insert into ready (lane, rank, task_id)
    select t.lane, t.rank, t.id from stored t where t.state = :pending and t.run_at is null returning lane
  )
  select array_agg(distinct lane) into v_lanes from now;
  if v_deduped then
    perform add_dedupe_entries(array(select t.i from json_to_recordset(p_tasks) as t(i uuid)));
  end if;
  return coalesce(v_lanes, '{}');
end $$;

-- The key under which tasks are the same for a dedupe shape.
create or replace function dedupe_key_of(p_shape integer, p_fields text[], p_metadata jsonb)
returns bigint language sql immutable as $$
  select hashtextextended('dedupe:' || slot_key_of(p_fields, p_metadata)::text, p_shape)
$$;

create or replace function add_dedupe_entries(p_tasks uuid[])
returns void language sql as $$
  insert into dedupe_entry (key, task_id)
  select dedupe_key_of(s.id, s.fields, t.metadata), t.id
  from task t join dedupe_shape s on s.kind_id = t.kind_id
  where t.id = any(p_tasks)
  on conflict do nothing
$$;

-- Registers fields by which tasks of a kind are compared; stored tasks get their entries here.
create or replace function register_dedupe_shape(p_kind integer, p_fields text[])
returns integer language plpgsql as $$
declare
  v_shape integer;
begin
  select id into v_shape from dedupe_shape where kind_id = p_kind and fields = p_fields;
  if found then return v_shape; end if;
  perform pg_advisory_xact_lock(7201, p_kind);
  insert into dedupe_shape (kind_id, fields) values (p_kind, p_fields)
  on conflict (kind_id, fields) do nothing returning id into v_shape;
  if v_shape is null then
    select id into v_shape from dedupe_shape where kind_id = p_kind and fields = p_fields;
    return v_shape;
  end if;
  insert into dedupe_entry (key, task_id)
  select dedupe_key_of(v_shape, p_fields, t.metadata), t.id from task t where t.kind_id = p_kind
  union all
  select dedupe_key_of(v_shape, p_fields, t.metadata), t.id from archive_task t where t.kind_id = p_kind
  on conflict do nothing;
  return v_shape;
end $$;

-- Finds existing tasks that make new ones unnecessary. p_probes: [{n: number, s: shape, m: metadata, t: [states]}]. The
-- keys are locked in order first, so that of two submissions with one key the second sees the first one's task.
create or replace function find_duplicates(p_kinds integer[], p_probes jsonb)
returns table (n integer, task_id uuid, probe_key bigint) language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(7201, k) from (select unnest(p_kinds) as k order by 1) o;
  perform pg_advisory_xact_lock(o.key) from (
    select distinct dedupe_key_of(s.id, s.fields, p.m) as key
    from jsonb_to_recordset(p_probes) as p(s integer, m jsonb) join dedupe_shape s on s.id = p.s order by 1) o;
  return query
  select p.n, (
    select found.id from (
      select t.id, t.state from dedupe_entry e join task t on t.id = e.task_id where e.key = k.key
      union all
      select t.id, t.state from dedupe_entry e join archive_task t on t.id = e.task_id where e.key = k.key) found
    where found.state = any(p.t) order by found.id limit 1), k.key
  from jsonb_to_recordset(p_probes) as p(n integer, s integer, m jsonb, t smallint[])
  join dedupe_shape s on s.id = p.s
  cross join lateral (select dedupe_key_of(s.id, s.fields, p.m) as key) k
  order by p.n;
end $$;
