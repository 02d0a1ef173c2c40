-- Stores workflows and tasks, and finds duplicates.
-- Locks: the kinds of the tasks, shared, by number; the rows it inserts; the end of the audit log. The caller has locked
-- the parents of linked tasks.
-- Callers: store/submissions.ts, store/claims.ts; store_nodes (trees.sql).

-- Inserts validated workflows with their tasks; returns the lanes where tasks became ready. p_lease and p_holder: as in
-- store_tasks.
create or replace function submit_tasks(p_rows submission, p_now timestamptz, p_lease bigint, p_holder text)
returns integer[] language plpgsql as $$
declare
  v_lanes integer[];
begin
  -- Those of their tasks that have ended already failed.
  insert into workflow (id, name, linked, task_count, remaining, succeeded, failed, canceled, skipped, failing, failed_task,
    kinds, traceparent, created_at, ended_at, outcome)
  select w.id, w.name, w.linked, w.task_count, w.remaining, 0, w.task_count - w.remaining, 0, 0,
    w.task_count > w.remaining, w.failed_task, w.kinds::integer[], w.traceparent, p_now,
    case when w.remaining = 0 then p_now end, case when w.remaining = 0 then :failed end
  from unnest((p_rows.workflows).ids, (p_rows.workflows).names, (p_rows.workflows).linked, (p_rows.workflows).task_counts,
      (p_rows.workflows).remaining, (p_rows.workflows).failed_tasks, (p_rows.workflows).kinds,
      (p_rows.workflows).traceparents)
    as w(id, name, linked, task_count, remaining, failed_task, kinds, traceparent);
  if (p_rows.edges).parents is not null then
    insert into edge (parent_id, child_id, requires_success, crosses, relayed)
    select e.parent_id, e.child_id, e.requires_success, coalesce(e.crosses, false), coalesce(e.relayed, false)
    from unnest((p_rows.edges).parents, (p_rows.edges).children, (p_rows.edges).requires_success, (p_rows.edges).crosses,
        (p_rows.edges).relayed)
      as e(parent_id, child_id, requires_success, crosses, relayed);
  end if;
  if (p_rows.plain).ids is not null then
    v_lanes := store_plain_tasks(p_rows.plain, p_rows.kinds, p_now, p_lease, p_holder);
  else
    v_lanes := store_tasks(p_rows.tasks, p_rows.specs, p_rows.kinds, p_now, p_lease, p_holder);
  end if;
  -- Last, since all processes wait for its lock.
  if p_rows.audit is not null then
    perform append_audit(p_rows.audit);
  end if;
  return v_lanes;
end $$;

-- submit_tasks for a few tasks, whose statements take longer to plan than to run. Those of large sets are planned each time,
-- since a plan for what a set has is faster than one for all that it could have.
create or replace function submit_few(p_rows submission, p_now timestamptz)
returns integer[] language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  return submit_tasks(p_rows, p_now, null, null);
end $$;

-- Inserts tasks of stored workflows; returns the lanes where tasks became ready. p_tasks: [the columns of `task` that
-- differ from their defaults, and: delay_ms; rule_set, or rule_shapes and rule_maxima; ended_as: the state of one that ends at
-- once, because a stored parent has ended or because it is disabled]. p_specs: [columns of `task_spec`]. p_lease: null, or the
-- lease of p_holder under which tasks start at once instead of becoming ready; the caller writes it.
create or replace function store_tasks(p_tasks json, p_specs json, p_kinds integer[], p_now timestamptz, p_lease bigint,
  p_holder text)
returns integer[] language plpgsql as $$
declare
  v_now timestamptz := p_now;
  v_deduped boolean;
  v_lanes integer[];
begin
  perform pg_advisory_xact_lock_shared(7201, k) from (select unnest(p_kinds) as k order by 1) o;
  v_deduped := exists (select 1 from dedupe_shape where kind_id = any(p_kinds));

  if p_specs is not null then
    insert into task_spec (task_id, actions, rules, dedupe, retry, reads, requirements)
    select s.task_id, s.actions, s.rules, s.dedupe, s.retry, s.reads, s.requirements
    from json_to_recordset(p_specs)
      as s(task_id uuid, actions jsonb, rules jsonb, dedupe jsonb, retry jsonb, reads jsonb, requirements jsonb);
  end if;
  with stored as (
    insert into task (id, workflow_id, kind_id, state, open_gates, linked, has_spec, has_actions, starts_by_webhook,
      needs_runner, computed, name, local_id, metadata, created_at, updated_at, run_at, ended_at, cause, reason,
      slot_version, wants, rule_set_id, rule_slots, rule_max,
      container_id, position, policy, sealed, generates, generator_id, generator_attempt,
      attempt, lease_id, claimed_by, claimed_at, started_at, deadline_at,
      -- Plain settings, described in vocabulary/task-fields.ts.
      priority, timeout_secs, deadline_basis, expected_count)
    select t.id, t.workflow_id, t.kind_id,
      coalesce(t.ended_as, case when t.open_gates > 0 then :waiting when s.starts then :running else :pending end),
      coalesce(t.open_gates, 0), coalesce(t.linked, false), coalesce(t.has_spec, false), coalesce(t.has_actions, false),
      coalesce(t.starts_by_webhook, false), coalesce(t.needs_runner, false), coalesce(t.computed, false), t.name, t.local_id,
      coalesce(t.metadata, '{}'), v_now, v_now, case when t.delay_ms > 0 then v_now + t.delay_ms * interval '1 millisecond' end,
      case when t.ended_as >= :terminal then v_now end, t.cause, t.reason,
      coalesce(c.version, 0), w.wants, t.rule_set,
      -- Mostly the only rule of a task has the only shape of its kind, whose slot is computed anyway.
      case when c.shapes = 1 and rs.shapes = array[c.shape] then w.wants
        else slots_of_shapes(coalesce(rs.shapes, t.rule_shapes), coalesce(t.metadata, '{}')) end,
      coalesce(rs.maxima, t.rule_maxima),
      t.container_id, t.position, coalesce(t.policy, 0), coalesce(t.sealed, false), coalesce(t.generates, false),
      t.generator_id, t.generator_attempt,
      s.starts::integer, case when s.starts then p_lease end, case when s.starts then p_holder end,
      case when s.starts then v_now end, case when s.starts then v_now end,
      case when s.starts then v_now + coalesce(t.timeout_secs, 3600) * interval '1 second' end,
      coalesce(t.priority, 0), coalesce(t.timeout_secs, 3600), coalesce(t.deadline_basis, :timeout_since_activity),
      t.expected_count
    from json_to_recordset(p_tasks) as t(id uuid, workflow_id uuid, kind_id integer, ended_as smallint, open_gates integer,
      linked boolean, has_spec boolean, has_actions boolean, starts_by_webhook boolean, needs_runner boolean,
      computed boolean, name text, local_id text, metadata jsonb, delay_ms bigint, cause uuid, reason text,
      rule_set integer, rule_shapes integer[], rule_maxima bigint[], container_id uuid, position integer, policy smallint, sealed boolean, generates boolean, generator_id uuid,
      generator_attempt integer, priority smallint, timeout_secs integer, deadline_basis smallint, expected_count bigint)
    cross join lateral (
      select p_lease is not null and t.ended_as is null and coalesce(t.open_gates, 0) = 0 and coalesce(t.delay_ms, 0) = 0
        as starts) s
    left join counted_kinds(p_kinds) c on c.id = t.kind_id
    left join rule_set rs on rs.id = t.rule_set
    cross join lateral (
      select case
        when c.shapes = 1 then array[coalesce(c.whole_slot, slot_of(c.shape, c.type, c.fields, coalesce(t.metadata, '{}')))]
        when c.shapes > 1 then wanted_slots(t.kind_id, coalesce(t.metadata, '{}')) end as wants) w
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
    perform add_dedupe_entries(array(select t.id from json_to_recordset(p_tasks) as t(id uuid)));
  end if;
  return coalesce(v_lanes, '{}');
end $$;

-- Stores submissions, then claims tasks: the lanes where tasks became ready, the time, and what claim returns. Plain tasks
-- start at once if all of them may be claimed, no rule counts them and nothing in the lanes precedes them: then they never
-- become ready.
create or replace function submit_and_claim(p_rows submission, p_now timestamptz, p_terms claim_terms,
  out lanes integer[], out now timestamptz, out tasks json, out refused integer)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_lease bigint;
begin
  perform lock_kinds(p_rows.kinds || p_terms.lanes);
  now := coalesce(p_now, clock_timestamp());
  if cardinality((p_rows.plain).ids) = 1 and p_rows.kinds <@ p_terms.lanes and p_rows.audit is null then
    tasks := start_one(p_rows.workflows, p_rows.plain, p_terms, now);
    if tasks is not null then
      lanes := '{}';
      return;
    end if;
  end if;
  if p_rows.kinds <@ p_terms.lanes and cardinality((p_rows.plain).ids) <= p_terms.max_tasks
     and not exists (select 1 from ready r where r.lane = any(p_terms.lanes))
     and not exists (select 1 from shape s where s.kind_id = any(p_rows.kinds)) then
    v_lease := nextval('lease_id_seq');
  end if;
  lanes := submit_tasks(p_rows, now, v_lease, p_terms.holder);
  if v_lease is null then
    select c.tasks, c.refused into tasks, refused
    from claim(p_terms.lanes, p_terms.max_tasks, p_terms.holder, 'run', p_terms.claim_timeout_ms, p_terms.lease_ms, now) c;
    return;
  end if;
  with started as (
    select t.id, t.timeout_secs, t.priority, claimed_task(t, 0) as handed
    from task t where t.id = any((p_rows.plain).ids) and t.lease_id = v_lease
  ), leased as (
    insert into lease (id, holder, claimed_at, check_at, open, task_ids, lease_ms) overriding system value
    select v_lease, p_terms.holder, now,
      now + least(min(s.timeout_secs) * interval '1 second', p_terms.lease_ms * interval '1 millisecond'),
      count(*)::integer, array_agg(s.id), p_terms.lease_ms
    from started s having count(*) > 0
  )
  select json_agg(o.handed) into tasks from (select s.handed from started s order by -s.priority, s.id) o;
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

-- Finds existing tasks that make new ones unnecessary. p_probes: [{n: number, shape, metadata, states}]. The
-- keys are locked in order first, so that of two submissions with one key the second sees the first one's task.
create or replace function find_duplicates(p_kinds integer[], p_probes jsonb)
returns table (n integer, task_id uuid, probe_key bigint) language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(7201, k) from (select unnest(p_kinds) as k order by 1) o;
  perform pg_advisory_xact_lock(o.key) from (
    select distinct dedupe_key_of(s.id, s.fields, p.metadata) as key
    from jsonb_to_recordset(p_probes) as p(shape integer, metadata jsonb) join dedupe_shape s on s.id = p.shape order by 1) o;
  return query
  select p.n, (
    select found.id from (
      select t.id, t.state from dedupe_entry e join task t on t.id = e.task_id where e.key = k.key
      union all
      select t.id, t.state from dedupe_entry e join archive_task t on t.id = e.task_id where e.key = k.key) found
    where found.state = any(p.states) order by found.id limit 1), k.key
  from jsonb_to_recordset(p_probes) as p(n integer, shape integer, metadata jsonb, states smallint[])
  join dedupe_shape s on s.id = p.shape
  cross join lateral (select dedupe_key_of(s.id, s.fields, p.metadata) as key) k
  order by p.n;
end $$;
