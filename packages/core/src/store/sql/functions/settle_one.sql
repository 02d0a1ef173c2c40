-- Settles one success of a plain task with few statements: in an idle system, starting a statement costs more than what
-- it does.
-- Locks: the workflow, the task, its child, then as conclude.
-- Callers: settle_reports; store/claims.ts (settle_and_claim).

-- Ends a task as settle does, if the only report is the success of an attempt without slots, actions and a place in a
-- tree, and at most one task depends on it. Otherwise it changes nothing, and `moved` is null. With p_lanes, whose kinds
-- the caller has locked, the child starts at once under p_holder if nothing in these lanes precedes it and no rule counts
-- it: then `started` is its id. `may_claim`: whether a claim from these lanes may find tasks. What it does is written here
-- again instead of calling what settle and claim call, since each call costs as much as a statement.
create or replace function settle_one(p_reports reports, p_now timestamptz, p_lanes integer[], p_holder text,
  p_lease_ms integer)
returns settled language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_result settled;
  v_id uuid := p_reports.ids[1];
  v_now timestamptz;
  v_workflow uuid := p_reports.workflows[1];
  v_remaining integer;
  v_task record;
  v_children uuid[];
  v_crosses boolean;
  v_child record;
  v_opens boolean := false;
  v_lease bigint;
  v_ended uuid[];
  v_lanes integer[] := '{}';
begin
  v_result.may_claim := true;
  if cardinality(p_reports.ids) <> 1 or p_reports.states[1] <> :succeeded
     or p_reports.reasons is not null or p_reports.extras is not null then return v_result; end if;
  if p_reports.workflows is null then
    select t.workflow_id into v_workflow from task t where t.id = v_id and t.linked;
  end if;
  if v_workflow is not null then
    select w.remaining into v_remaining from workflow w where w.id = v_workflow for no key update;
  end if;
  select t.workflow_id, t.kind_id, t.state, t.started_at, t.lease_id, t.linked into v_task
  from task t
  where t.id = v_id and (t.state + 0) in (:claimed, :running) and t.attempt = coalesce(p_reports.attempts[1], t.attempt)
    and t.slots is null and t.container_id is null and not t.has_actions and not t.secrets_sent
  for no key update;
  if not found then return v_result; end if;
  v_now := coalesce(p_now, clock_timestamp());
  if v_task.linked then
    -- The task is locked: no submission can make another one depend on it any more.
    select array_agg(e.child_id), bool_or(e.crosses) into v_children, v_crosses
    from (select e.child_id, e.crosses from edge e where e.parent_id = v_id limit 2) e;
    if v_crosses or cardinality(v_children) > 1 then return v_result; end if;
  end if;
  if v_children is not null then
    select t.id, t.open_gates, t.timeout_secs, t.rule_slots, lane_of(t.starts_by_webhook, t.needs_runner, t.kind_id) as lane
    into v_child
    from task t
    where t.id = v_children[1] and (t.state + 0) = :waiting and (t.run_at is null or t.run_at <= v_now)
    for no key update;
    if not found then return v_result; end if;
    v_opens := v_child.open_gates = 1;
  end if;

  if p_lanes is not null then
    v_result.may_claim := exists (select 1 from ready r where r.lane = any(p_lanes));
    if v_opens and not v_result.may_claim then
      if v_child.lane = any(p_lanes) and v_child.rule_slots is null
         and not exists (select 1 from shape s where s.kind_id = v_child.lane) then
        v_result.started := v_children[1];
        v_lease := nextval('lease_id_seq');
      end if;
    end if;
  end if;
  update task t set state = :succeeded, ended_at = v_now, updated_at = v_now, reason = null, lease_id = null,
    log_pack = case when t.attempt = 1 then coalesce(p_reports.pack, t.log_pack) else t.log_pack end
  where t.id = v_id;
  if v_lease is not null then
    update task t set open_gates = 0, run_at = v_now, state = :running, attempt = t.attempt + 1, claimed_by = p_holder,
      claimed_at = v_now, exit_code = null, updated_at = v_now, started_at = v_now,
      deadline_at = v_now + t.timeout_secs * interval '1 second', lease_id = v_lease
    where t.id = v_result.started;
    insert into lease (id, holder, claimed_at, check_at, open, task_ids, lease_ms) overriding system value
    values (v_lease, p_holder, v_now,
      v_now + least(v_child.timeout_secs * interval '1 second', p_lease_ms * interval '1 millisecond'), 1, v_children,
      p_lease_ms);
  elsif v_opens then
    update task t set open_gates = 0, state = :pending, run_at = v_now, updated_at = v_now where t.id = v_children[1];
    v_lanes := make_ready(v_children, v_now);
    v_result.may_claim := true;
  elsif v_children is not null then
    update task t set open_gates = t.open_gates - 1 where t.id = v_children[1];
  end if;
  delete from lease where id = v_task.lease_id and cardinality(task_ids) = 1;
  if not found then perform close_leases(array[v_task.lease_id]); end if;
  if v_remaining > 1 and v_workflow = v_task.workflow_id then
    update workflow set remaining = remaining - 1, succeeded = succeeded + 1 where id = v_workflow;
  else
    v_ended := count_succeeded(array[v_task.workflow_id], v_now);
  end if;
  v_result.moved := format('{"transitions":[{"kind":%s,"from":%s,"to":%s,"durations_ms":%s}],"propagations":%s,'
      '"unblocked":%s,"lanes":%s,"workflows":["%s"],"ended":%s}',
    v_task.kind_id, v_task.state, :succeeded,
    coalesce('[' || (date_part('epoch', v_now - v_task.started_at) * 1000)::bigint || ']', 'null'),
    case when v_children is null then 'null' else '[{"state":' || :succeeded || ',"count":1}]' end,
    v_opens::integer, array_to_json(v_lanes), v_task.workflow_id, coalesce(array_to_json(v_ended)::text, 'null'));
  return v_result;
end $$;

-- Settles reports, then claims tasks from these lanes. The first row has the answer of the settle, the others are claimed
-- tasks. Claimed kinds are locked before the tasks.
create or replace function settle_and_claim(p_reports reports, p_jitter double precision, p_now timestamptz,
  p_results jsonb, p_notices jsonb, p_log bytea, p_lines integer[], p_lanes integer[], p_limit integer, p_holder text,
  p_claim_timeout_ms integer, p_lease_ms integer)
returns table (moved json, id uuid, workflow_id uuid, kind_id integer, name text, attempt integer, metadata jsonb,
  timeout_secs integer, deadline_basis smallint, linked boolean, container_id uuid, local_id text, computed boolean, waited_ms bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  v_settled settled;
begin
  perform lock_kinds(p_lanes);
  v_settled := settle_reports(p_reports, p_jitter, p_now, p_results, p_notices, p_log, p_lines, p_lanes, p_holder, p_lease_ms);
  moved := v_settled.moved;
  return next;
  if v_settled.started is not null then
    return query
    select null::json, t.id, t.workflow_id, t.kind_id, t.name, t.attempt, t.metadata, t.timeout_secs, t.deadline_basis,
      t.linked, t.container_id, t.local_id, t.computed, 0::bigint
    from task t where t.id = v_settled.started;
  elsif v_settled.may_claim then
    return query
    select null::json, c.* from claim(p_lanes, p_limit, p_holder, 'run', p_claim_timeout_ms, p_lease_ms, p_now) c;
  end if;
end $$;
