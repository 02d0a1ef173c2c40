-- Stores and starts one task with few statements: in an idle system, starting a statement costs more than what it does.
-- Locks: the rows it inserts. The caller has locked the kinds.
-- Callers: submit_and_claim.

-- Stores one plain task without dependencies and its workflow, and starts the task under a lease of the claimer. Returns the
-- tasks as claim does. Null, without a change, if the task has rules, if something in the lanes of the claim precedes it, or if
-- tasks of its kind are counted or compared with each other.
create or replace function start_one(p_workflows new_workflows, p_plain plain_tasks, p_terms claim_terms, p_now timestamptz)
returns json language plpgsql as $$
declare
  v_kind integer := p_plain.kind_ids[1];
  v_timeout_secs integer := coalesce(p_plain.timeout_secs[1], 3600);
  v_lease bigint;
  v_version integer;
  v_tasks json;
begin
  if p_terms.max_tasks < 1 or cardinality(p_workflows.ids) <> 1 or p_plain.linked is not null or p_plain.rule_sets is not null
    then return null; end if;
  select k.slot_version into v_version from kind k
  where k.id = v_kind and not exists (select 1 from ready r where r.lane = any(p_terms.lanes))
    and not exists (select 1 from shape s where s.kind_id = k.id)
    and not exists (select 1 from dedupe_shape d where d.kind_id = k.id);
  if not found then return null; end if;
  v_lease := nextval('lease_id_seq');
  insert into workflow (id, name, linked, task_count, remaining, succeeded, failed, canceled, skipped, kinds, traceparent, created_at)
  values (p_workflows.ids[1], p_workflows.names[1], false, 1, 1, 0, 0, 0, 0, p_workflows.kinds[1]::integer[],
    p_workflows.traceparents[1], p_now);
  insert into task (id, workflow_id, kind_id, state, name, local_id, metadata, created_at, updated_at, slot_version, attempt, lease_id,
    claimed_by, claimed_at, started_at, deadline_at,
    -- Plain settings, described in vocabulary/task-fields.ts.
    priority, timeout_secs, deadline_basis, expected_count)
  values (p_plain.ids[1], p_workflows.ids[1], v_kind, :running, p_plain.names[1], p_plain.local_ids[1],
    coalesce(p_plain.metadata[1], '{}'), p_now, p_now, v_version, 1, v_lease, p_terms.holder, p_now, p_now,
    p_now + v_timeout_secs * interval '1 second', coalesce(p_plain.priority[1], 0), v_timeout_secs,
    coalesce(p_plain.deadline_basis[1], :timeout_since_activity), p_plain.expected_count[1])
  returning json_build_array(claimed_task(task, 0)) into v_tasks;
  insert into lease (id, holder, claimed_at, check_at, open, task_ids, lease_ms) overriding system value
  values (v_lease, p_terms.holder, p_now,
    p_now + least(v_timeout_secs * interval '1 second', p_terms.lease_ms * interval '1 millisecond'),
    1, p_plain.ids, p_terms.lease_ms);
  return v_tasks;
end $$;
