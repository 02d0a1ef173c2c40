-- Settles one success of a plain task with few statements: in an idle system, starting a statement costs more than what
-- it does.
-- Locks: the workflow, the task, its child, then as conclude.
-- Callers: settle_reports; store/claims.ts (settle_and_claim).

-- Ends a task as settle does, if the only report is the success of an attempt without slots, actions and a place in a
-- tree, and at most one task depends on it. Otherwise it changes nothing, and `moved` is null. If p_terms has lanes, whose
-- kinds the caller has locked, the child starts at once if nothing in these lanes precedes it and no rule counts it: then
-- `started` is its id. `may_claim`: whether a claim from these lanes may find tasks. What it does is written here again
-- instead of calling what settle and claim call, since a call in a statement costs as much as the statement.
create or replace function settle_one(p_reports reports, p_now timestamptz, p_terms claim_terms)
returns settled language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_result settled;
  v_id uuid := p_reports.ids[1];
  v_now timestamptz;
  v_workflow uuid := p_reports.workflows[1];
  v_task record;
  v_children uuid[];
  v_crosses boolean;
  v_child record;
  v_lease bigint;
  v_opens boolean := false;
  -- Where the child becomes ready; null if its own rules count it.
  v_lane integer;
  v_starts boolean;
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
    perform 1 from workflow w where w.id = v_workflow for no key update;
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
    select t.open_gates, t.timeout_secs,
      case when t.rule_slots is null then lane_of(t.starts_by_webhook, t.needs_runner, t.kind_id) end as lane
    into v_child
    from task t
    where t.id = v_children[1] and (t.state + 0) = :waiting and (t.run_at is null or t.run_at <= v_now)
    for no key update;
    if not found then return v_result; end if;
    v_opens := v_child.open_gates = 1;
    v_lane := v_child.lane;
  end if;
  if p_terms.lanes is not null then
    select exists (select 1 from ready r where r.lane = any(p_terms.lanes)),
      v_opens and v_lane = any(p_terms.lanes) and not exists (select 1 from shape s where s.kind_id = v_lane)
    into v_result.may_claim, v_starts;
    if v_starts and not v_result.may_claim then
      v_result.started := v_children[1];
      v_lease := pass_lease(v_task.lease_id, v_children[1], v_child.timeout_secs, p_terms, v_now);
    end if;
  end if;
  perform write_one(v_id, v_children[1], v_opens, v_lease, p_terms.holder, p_reports.pack, v_now);
  if v_lease is null then
    delete from lease where id = v_task.lease_id and cardinality(task_ids) = 1;
    if not found then perform close_leases(array[v_task.lease_id]); end if;
    if v_opens then
      v_lanes := make_ready(v_children, v_now);
      v_result.may_claim := true;
    end if;
  end if;
  -- More has to be said at the end of a tree, of a traced workflow, and of one with failures.
  update workflow set remaining = remaining - 1, succeeded = succeeded + 1,
    ended_at = case when remaining = 1 then v_now end, outcome = case when remaining = 1 then :succeeded end
  where id = v_task.workflow_id
    and (remaining > 1 or task_count = succeeded + 1 and not is_tree and traceparent is null);
  if not found then v_ended := count_succeeded(array[v_task.workflow_id], v_now); end if;
  v_result.moved := answer_of_one(v_task.kind_id, v_task.state, (date_part('epoch', v_now - v_task.started_at) * 1000)::bigint,
    v_children is not null, v_opens, v_lanes, v_task.workflow_id, v_ended);
  return v_result;
end $$;

-- Ends a task, and closes a gate of its child (null: it has none). If that opens the child, it is pending, or it runs under
-- this lease. Both in one statement, since each statement parses the CHECK constraint of the table.
create or replace function write_one(p_id uuid, p_child uuid, p_opens boolean, p_lease bigint, p_holder text, p_pack bigint,
  p_now timestamptz)
returns void language plpgsql as $$
declare
  v_starts boolean := p_lease is not null;
begin
  update task t set
    state = case when t.id = p_id then :succeeded when v_starts then :running when p_opens then :pending else t.state end,
    open_gates = t.open_gates - (t.id <> p_id)::integer,
    run_at = case when t.id <> p_id and p_opens then p_now else t.run_at end,
    updated_at = case when t.id = p_id or p_opens then p_now else t.updated_at end,
    ended_at = case when t.id = p_id then p_now end,
    reason = case when t.id <> p_id then t.reason end,
    log_pack = case when t.id = p_id and t.attempt = 1 then coalesce(p_pack, t.log_pack) else t.log_pack end,
    lease_id = case when t.id <> p_id then p_lease end,
    attempt = t.attempt + (t.id <> p_id and v_starts)::integer,
    claimed_by = case when t.id <> p_id and v_starts then p_holder else t.claimed_by end,
    claimed_at = case when t.id <> p_id and v_starts then p_now else t.claimed_at end,
    exit_code = case when t.id = p_id or not v_starts then t.exit_code end,
    started_at = case when t.id <> p_id and v_starts then p_now else t.started_at end,
    deadline_at = case when t.id <> p_id and v_starts then p_now + t.timeout_secs * interval '1 second' else t.deadline_at end
  where t.id = any(array[p_id, p_child]);
end $$;

-- What settle answers for one success.
create or replace function answer_of_one(p_kind integer, p_from smallint, p_ran_ms bigint, p_propagates boolean,
  p_opens boolean, p_lanes integer[], p_workflow uuid, p_ended uuid[])
returns json language sql stable as $$
  select format('{"transitions":[{"kind":%s,"from":%s,"to":%s,"durations_ms":%s}],"propagations":%s,"unblocked":%s,'
      '"lanes":%s,"workflows":["%s"],"ended":%s}',
    p_kind, p_from, :succeeded, coalesce('[' || p_ran_ms::text || ']', 'null'),
    case when p_propagates then '[{"state":' || (:succeeded)::text || ',"count":1}]' else 'null' end, p_opens::integer,
    array_to_json(p_lanes), p_workflow, coalesce(array_to_json(p_ended)::text, 'null'))::json
$$;

-- Gives the lease of a task that ends to a child that starts, if they have one holder and nothing else is under it; otherwise
-- the child gets one of its own. Returns its number.
create or replace function pass_lease(p_lease bigint, p_child uuid, p_timeout_secs integer, p_terms claim_terms,
  p_now timestamptz)
returns bigint language plpgsql as $$
declare
  v_lease bigint := p_lease;
  v_check_at timestamptz := p_now
    + least(p_timeout_secs * interval '1 second', p_terms.lease_ms * interval '1 millisecond');
begin
  update lease set claimed_at = p_now, check_at = v_check_at, task_ids = array[p_child], lease_ms = p_terms.lease_ms
  where id = p_lease and cardinality(task_ids) = 1 and holder = p_terms.holder and queued_kind is null;
  if not found then
    perform close_leases(array[p_lease]);
    v_lease := nextval('lease_id_seq');
    insert into lease (id, holder, claimed_at, check_at, open, task_ids, lease_ms) overriding system value
    values (v_lease, p_terms.holder, p_now, v_check_at, 1, array[p_child], p_terms.lease_ms);
  end if;
  return v_lease;
end $$;

-- Settles reports, then claims tasks: their answer, and what claim returns. Claimed kinds are locked before the tasks.
create or replace function settle_and_claim(p_reports reports, p_jitter double precision, p_now timestamptz,
  p_parts report_parts, p_terms claim_terms, out moved json, out tasks json, out refused integer)
language plpgsql as $$
declare
  v_settled settled;
begin
  perform lock_kinds(p_terms.lanes);
  v_settled := settle_reports(p_reports, p_jitter, p_now, p_parts, p_terms);
  moved := v_settled.moved;
  if v_settled.started is not null then
    select json_build_array(claimed_task(t, 0)) into tasks from task t where t.id = v_settled.started;
  elsif v_settled.may_claim then
    select c.tasks, c.refused into tasks, refused
    from claim(p_terms.lanes, p_terms.max_tasks, p_terms.holder, 'run', p_terms.claim_timeout_ms, p_terms.lease_ms, p_now) c;
  end if;
end $$;
