-- Stores plain tasks, which are most: those without a spec, a delay, a place in a tree and an early end.
-- Locks: the kinds of the tasks, shared, by number; the rows it inserts.
-- Callers: submit_tasks.

-- Inserts tasks as store_tasks does, from arrays of columns instead of JSON: reading that takes half of the time. A plain
-- task waits in the lane of its kind.
create or replace function store_plain_tasks(p_tasks plain_tasks, p_kinds integer[], p_now timestamptz, p_lease bigint,
  p_holder text)
returns integer[] language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  perform lock_kinds(p_kinds);
  insert into task (id, workflow_id, kind_id, state, open_gates, linked, name, local_id, metadata, created_at, updated_at,
    slot_version, wants, rule_set_id, rule_slots, rule_max, attempt, lease_id, claimed_by, claimed_at, started_at, deadline_at,
    -- Plain settings, described in vocabulary/task-fields.ts.
    priority, timeout_secs, deadline_basis, expected_count)
  select t.id, t.workflow_id, t.kind_id,
    case when t.open_gates > 0 then :waiting when s.starts then :running else :pending end, coalesce(t.open_gates, 0),
    coalesce(t.linked, false), t.name, t.local_id, coalesce(t.metadata, '{}'), p_now, p_now,
    coalesce(c.version, 0), w.wants, t.rule_set,
    -- Mostly the only rule of a task has the only shape of its kind, whose slot is computed anyway.
    case when c.shapes = 1 and rs.shapes = array[c.shape] then w.wants
      else slots_of_shapes(rs.shapes, coalesce(t.metadata, '{}')) end, rs.maxima,
    s.starts::integer, case when s.starts then p_lease end, case when s.starts then p_holder end,
    case when s.starts then p_now end, case when s.starts then p_now end,
    case when s.starts then p_now + coalesce(t.timeout_secs, 3600) * interval '1 second' end,
    coalesce(t.priority, 0), coalesce(t.timeout_secs, 3600), coalesce(t.deadline_basis, :timeout_since_activity),
    t.expected_count
  from unnest(p_tasks.ids, p_tasks.workflow_ids, p_tasks.kind_ids, p_tasks.open_gates, p_tasks.linked, p_tasks.names,
      p_tasks.local_ids, p_tasks.metadata, p_tasks.priority, p_tasks.timeout_secs, p_tasks.deadline_basis,
      p_tasks.expected_count, p_tasks.rule_sets)
    as t(id, workflow_id, kind_id, open_gates, linked, name, local_id, metadata, priority, timeout_secs, deadline_basis,
      expected_count, rule_set)
  cross join lateral (select p_lease is not null and coalesce(t.open_gates, 0) = 0 as starts) s
  left join counted_kinds(p_kinds) c on c.id = t.kind_id
  left join rule_set rs on rs.id = t.rule_set
  cross join lateral (
    select case
      when c.shapes = 1 then array[coalesce(c.whole_slot, slot_of(c.shape, c.type, c.fields, coalesce(t.metadata, '{}')))]
      when c.shapes > 1 then wanted_slots(t.kind_id, coalesce(t.metadata, '{}')) end as wants) w;
  if exists (select 1 from dedupe_shape where kind_id = any(p_kinds)) then perform add_dedupe_entries(p_tasks.ids); end if;
  if p_lease is not null then return '{}'; end if;
  insert into ready (lane, rank, task_id)
  select t.kind_id, -coalesce(t.priority, 0), t.id
  from unnest(p_tasks.ids, p_tasks.kind_ids, p_tasks.open_gates, p_tasks.priority) as t(id, kind_id, open_gates, priority)
  where coalesce(t.open_gates, 0) = 0;
  return p_tasks.lanes;
end $$;
