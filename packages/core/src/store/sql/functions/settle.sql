-- Settles reports: ends their tasks, or begins their next attempts.
-- Locks: workflows by id, tasks by id, then as conclude.
-- Callers: store/transitions.ts, store/claims.ts; sweep, sweep_queued, deliveries. Functions without settings have
-- those of settle, which calls them.

-- Settles a set of reports in one transaction: the reports' extras, the tasks' ends or next attempts, and everything that
-- follows from them. p_expire: only tasks whose deadline has passed end.
-- Returns {codes, states: a number for each report, or null where all were applied as asked; transitions: [{kind, from, to,
-- durations_ms: or null, count: by default that of the durations}]; cascaded: [{kind, count}]; propagations: [{state: the
-- parent's, count}]; lanes; deliveries;
-- unblocked; workflows}. Codes: 0 applied, 1 retrying, 2 unchanged, 3 conflict, 4 not started, 5 stale attempt, 6 not
-- found. Ids in ascending order are settled fastest: if the locked rows match the reports one by one, nothing has to
-- be joined.
create or replace function settle(p_reports reports, p_expire boolean, p_jitter double precision, p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_set settling;
  v_expanding uuid[];
  v_branches record;
  v_settled json;
begin
  if p_reports.workflows is null then perform lock_workflows(p_reports.ids);
  elsif cardinality(p_reports.workflows) > 0 then
    perform 1 from workflow where id = any(p_reports.workflows) order by id for no key update;
  end if;
  if not p_expire and p_reports.extras is null then
    v_set := accept_as_asked(p_reports, v_now);
    if v_set.unredacted then return json_build_object('unredacted', true); end if;
    v_set.pack := p_reports.pack;
    v_set.logged := p_reports.logged;
    if v_set.ids is not null then return settle_accepted(v_set, p_reports.ids, p_jitter, v_now); end if;
  end if;
  v_set := accept_reports(p_reports, p_expire, v_now);
  if v_set.unredacted then return json_build_object('unredacted', true); end if;
  v_set.pack := p_reports.pack;
  v_set.logged := p_reports.logged;
  if v_set.codes is not null then v_set.lanes := release_canceled(p_reports.ids, v_set.codes); end if;
  if v_set.ids is null then
    return json_build_object('codes', v_set.codes, 'states', v_set.states, 'lanes', v_set.lanes, 'deliveries', 0,
      'unblocked', 0);
  end if;
  if p_reports.extras is not null then
    v_set.lanes := v_set.lanes || apply_extras(v_set.ids, p_reports.extras, v_now);
    v_set.final := array(select x.id from jsonb_to_recordset(p_reports.extras) as x(id uuid, final boolean) where x.final);
    if v_set.containers is not null
       and exists (
         select 1 from jsonb_to_recordset(p_reports.extras) as x(expected_created integer)
         where x.expected_created is not null) then
      v_expanding := begin_expansion(v_set.ids, v_set.targets, p_reports.extras, v_now);
    end if;
  end if;
  if cardinality(v_expanding) > 0 then
    v_set := without_expanding(v_set, v_expanding, cardinality(p_reports.ids), v_now);
    if v_set.ids is null then
      return json_build_object('codes', v_set.codes, 'states', states_of(p_reports.ids), 'transitions', v_set.transitions,
        'lanes', v_set.lanes, 'deliveries', 0, 'unblocked', 0);
    end if;
  end if;
  if v_set.containers is null or p_reports.extras is null or not exists (
    select 1 from jsonb_to_recordset(p_reports.extras) as x(disable jsonb) where x.disable is not null) then
    return settle_accepted(v_set, p_reports.ids, p_jitter, v_now);
  end if;
  select * into v_branches from disable_branches(v_set.ids, v_set.targets, p_reports.extras, v_now);
  v_set.lanes := v_set.lanes || v_branches.lanes;
  v_settled := settle_accepted(v_set, p_reports.ids, p_jitter, v_now);
  return (v_settled::jsonb || jsonb_build_object('ignored', v_branches.ignored,
    'unblocked', (v_settled ->> 'unblocked')::integer + v_branches.unblocked))::json;
end $$;

-- settle, with the results, notices and logs of the tasks: one statement, so that the locks of the reports are not held for
-- a second round trip. p_terms: as in settle_one.
create or replace function settle_reports(p_reports reports, p_jitter double precision, p_now timestamptz,
  p_parts report_parts, p_terms claim_terms)
returns settled language plpgsql as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_settled settled;
  v_written integer;
begin
  if p_parts.log is not null then p_reports.pack := nextval('log_pack_id'); end if;
  v_settled := settle_one(p_reports, p_now, p_terms);
  if v_settled.moved is null then
    v_settled.moved := settle(p_reports, false, p_jitter, p_now);
    if v_settled.moved -> 'unredacted' is not null then return v_settled; end if;
  end if;
  if p_parts.log is not null then
    perform store_reported_logs(p_reports, v_settled.moved ->> 'codes' is null, p_parts.log, p_parts.lines);
  end if;
  if p_parts.results is null and p_parts.notices is null then return v_settled; end if;
  if p_parts.results is not null then
    perform store_results(p_reports.ids, v_settled.moved -> 'codes', p_parts.results, v_now);
  end if;
  if p_parts.notices is null then return v_settled; end if;
  v_written := write_task_notices(p_reports.ids, v_settled.moved -> 'codes', p_parts.notices, v_now);
  v_settled.moved := (v_settled.moved::jsonb || jsonb_build_object('deliveries',
    coalesce((v_settled.moved ->> 'deliveries')::integer, 0) + v_written))::json;
  return v_settled;
end $$;

-- Stores the pack of settled reports. p_as_asked: whether all of them ended their tasks, which have its number then unless
-- theirs were later attempts.
create or replace function store_reported_logs(p_reports reports, p_as_asked boolean, p_log bytea, p_lines integer[])
returns void language plpgsql as $$
begin
  if p_as_asked and p_reports.logged is null
     and (select bool_and(r.attempt < 2) from unnest(p_reports.attempts) r(attempt)) then
    insert into log_pack (id, entries, data) values (p_reports.pack, cardinality(p_reports.ids), p_log);
  elsif p_reports.logged is null then
    perform store_log_pack(p_reports.pack, p_log, p_reports.ids, p_reports.attempts, p_lines);
  else
    perform store_log_pack(p_reports.pack, p_log, p_reports.logged, array(
      select r.attempt from unnest(p_reports.logged) with ordinality l(id, ord)
      join unnest(p_reports.ids, p_reports.attempts) r(id, attempt) on r.id = l.id order by l.ord), p_lines);
  end if;
end $$;

-- Reports of one outcome.
create or replace function reports_of(p_ids uuid[], p_attempts integer[], p_state integer, p_reasons text[])
returns reports language sql immutable as $$
  select p_ids, p_attempts, array_fill(p_state::smallint, array[cardinality(p_ids)]), p_reasons, null::jsonb,
    null::uuid[], null::uuid[], null::bigint, null::uuid[]
$$;

-- Accepts reports in ascending order that all match running attempts; null if any does not.
create or replace function accept_as_asked(p_reports reports, p_now timestamptz)
returns settling language plpgsql as $$
declare
  v_set settling;
  v_attempts integer[];
  v_kinds integer[];
  v_froms smallint[];
  v_started timestamptz[];
  v_open boolean;
  v_in_trees boolean;
begin
  select array_agg(l.id), array_agg(l.workflow_id), array_agg(l.lease_id), array_agg(l.attempt), array_agg(l.kind_id),
    array_agg(l.state), array_agg(l.started_at), bool_and(l.state in (:claimed, :running)), bool_or(l.linked),
    bool_or(l.has_spec), bool_or(l.has_actions), count(l.slots) > 0,
    case when count(l.slots) = count(*) and min(l.slots) = max(l.slots) then min(l.slots) end, array_agg(l.container_id),
    bool_or(l.container_id is not null), bool_or(l.secrets_sent and l.id <> all(p_reports.redacted))
  into v_set.ids, v_set.workflows, v_set.leases, v_attempts, v_kinds, v_froms, v_started, v_open, v_set.linked,
    v_set.has_spec, v_set.has_actions, v_set.holds, v_set.held, v_set.containers, v_in_trees, v_set.unredacted
  from (
    select t.id, t.workflow_id, t.kind_id, t.state, t.attempt, t.lease_id, t.linked, t.has_spec, t.has_actions,
      t.slots, t.started_at, t.container_id, t.secrets_sent
    from task t where t.id = any(p_reports.ids) order by t.id for no key update) l;
  if v_set.unredacted then return v_set; end if;
  if not coalesce(v_open and v_set.ids = p_reports.ids and v_attempts = p_reports.attempts, false) then
    return null;
  end if;
  select json_agg(json_build_object('kind', g.kind_id, 'from', g.state, 'to', g.target, 'durations_ms', g.durations)) into v_set.transitions from (
    select m.kind_id, m.state, m.target,
      json_agg((date_part('epoch', p_now - m.started_at) * 1000)::bigint) filter (where m.started_at is not null)
        as durations
    from unnest(v_kinds, v_froms, p_reports.states, v_started) m(kind_id, state, target, started_at)
    group by m.kind_id, m.state, m.target) g;
  v_set.targets := p_reports.states;
  v_set.reasons := p_reports.reasons;
  if not v_in_trees then v_set.containers := null; end if;
  v_set.lanes := '{}';
  return v_set;
end $$;

-- Locks the tasks of these reports and decides which are accepted.
create or replace function accept_reports(p_reports reports, p_expire boolean, p_now timestamptz)
returns settling language plpgsql as $$
declare
  v_set settling;
  v_in_trees boolean;
begin
  with locked as (
    select t.id, t.workflow_id, t.kind_id, t.state, t.paused_from, t.attempt, t.lease_id, t.linked, t.has_spec, t.has_actions,
      t.slots is not null as holds, t.started_at, t.deadline_at, t.container_id,
      t.secrets_sent and t.id <> all(p_reports.redacted) as unredacted
    from task t where t.id = any(p_reports.ids) order by t.id for no key update
  ), decided as (
    select r.ord, r.id, r.target, r.reason, l.workflow_id, l.kind_id, l.state, l.lease_id, l.linked, l.has_spec,
      l.has_actions, l.holds, l.container_id, l.started_at,
      case
        when l.id is null then :result_not_found
        when r.attempt <> l.attempt then :result_stale_attempt
        when l.state >= :terminal then case when l.state = r.target then :result_unchanged else :result_conflict end
        when l.state in (:waiting, :pending) or (l.state = :paused and l.paused_from in (:waiting, :pending))
          then :result_not_started
        when not p_expire and (l.state = :expanding or l.paused_from = :expanding)
          then case when r.target = :succeeded then :result_unchanged else :result_conflict end
        when p_expire and (l.state = :paused or l.deadline_at is null or l.deadline_at > p_now) then :result_conflict
        else :result_applied
      end::smallint as code
    from unnest(p_reports.ids, p_reports.attempts, p_reports.states, p_reports.reasons) with ordinality
      r(id, attempt, target, reason, ord)
    left join locked l on l.id = r.id
  ), accepted as (
    select * from decided where code = :result_applied
  )
  select
    (select array_agg(d.code order by d.ord) from decided d
      where exists (select 1 from decided x where x.code <> :result_applied)),
    (select array_agg(d.state order by d.ord) from decided d
      where exists (select 1 from decided x where x.code <> :result_applied)),
    array_agg(a.id), array_agg(a.workflow_id), array_agg(a.lease_id), array_agg(a.target),
    nullif(array_agg(a.reason), array_fill(null::text, array[count(*)::integer])),
    bool_or(a.linked), bool_or(a.has_spec), bool_or(a.has_actions), bool_or(a.holds),
    array_agg(a.container_id), bool_or(a.container_id is not null),
    (select json_agg(json_build_object('kind', g.kind_id, 'from', g.state, 'to', g.target, 'durations_ms', g.durations)) from (
      select m.kind_id, m.state, m.target,
        json_agg((date_part('epoch', p_now - m.started_at) * 1000)::bigint) filter (where m.started_at is not null)
          as durations
      from accepted m group by m.kind_id, m.state, m.target) g),
    (select bool_or(l.unredacted) from locked l)
  into v_set.codes, v_set.states, v_set.ids, v_set.workflows, v_set.leases, v_set.targets, v_set.reasons, v_set.linked,
    v_set.has_spec, v_set.has_actions, v_set.holds, v_set.containers, v_in_trees, v_set.transitions,
    v_set.unredacted
  from accepted a;
  if not v_in_trees then v_set.containers := null; end if;
  v_set.lanes := '{}';
  return v_set;
end $$;

-- Removes expanding tasks from a set, one of p_count reports: their reports are accepted, but they have not ended.
create or replace function without_expanding(p_set settling, p_expanding uuid[], p_count integer, p_now timestamptz)
returns settling language plpgsql as $$
begin
  p_set.codes := coalesce(p_set.codes, array_fill(:result_applied::smallint, array[p_count]));
  p_set.transitions := (
    select json_agg(json_build_object('kind', t.kind_id, 'from', :running,
      'to', case when e.id is null then u.target else :expanding end, 'count', 1,
      'durations_ms', case when e.id is null then json_build_array((date_part('epoch', p_now - t.started_at) * 1000)::bigint) end))
    from unnest(p_set.ids, p_set.targets) u(id, target) join task t on t.id = u.id
    left join unnest(p_expanding) e(id) on e.id = u.id);
  select array_agg(u.id), array_agg(u.workflow_id), array_agg(u.lease_id), array_agg(u.target),
    nullif(array_agg(u.reason), array_fill(null::text, array[count(*)::integer])), array_agg(u.container_id)
  into p_set.ids, p_set.workflows, p_set.leases, p_set.targets, p_set.reasons, p_set.containers
  from unnest(p_set.ids, p_set.workflows, p_set.leases, p_set.targets, p_set.reasons, p_set.containers)
    u(id, workflow_id, lease_id, target, reason, container_id)
  where u.id <> all(p_expanding);
  return p_set;
end $$;

-- Ends the tasks of a set, or begins their next attempts, and answers as settle does. p_asked: the tasks of all reports.
create or replace function settle_accepted(p_set settling, p_asked uuid[], p_jitter double precision, p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_retried uuid[];
  v_retry_at timestamptz[];
  v_ending ending;
  v_after record;
begin
  v_ending := row(p_set.ids, p_set.workflows, case when :succeeded <> any(p_set.targets) then p_set.targets end,
    p_set.containers, p_set.leases, null, null, p_set.linked, p_set.has_actions);
  if p_set.holds then
    select h.slots, h.amounts into v_ending.slots, v_ending.amounts from held_by(p_set.ids, p_set.held) h;
  end if;
  if p_set.has_spec and (:failed::smallint = any(p_set.targets) or :timed_out::smallint = any(p_set.targets)) then
    select array_agg(t.id), array_agg(p_now + retry_delay(sp.retry, t.attempt, t.id, p_jitter))
    into v_retried, v_retry_at
    from unnest(p_set.ids, p_set.targets) u(id, target) join task t on t.id = u.id join task_spec sp on sp.task_id = t.id
    where u.target in (:failed, :timed_out) and t.attempt < (sp.retry ->> 'max_attempts')::integer
      and (p_set.final is null or t.id <> all(p_set.final));
  end if;
  if v_retried is not null then
    p_set := begin_retries(p_set, p_asked, v_retried, v_retry_at, p_now);
    select coalesce(array_agg(u.id), '{}'), coalesce(array_agg(u.workflow_id), '{}'), coalesce(array_agg(u.target), '{}')
    into v_ending.ids, v_ending.workflows, v_ending.states
    from unnest(p_set.ids, p_set.workflows, p_set.targets) u(id, workflow_id, target) where u.id <> all(v_retried);
    if p_set.containers is not null then
      v_ending.containers := (
        select array_agg(u.container_id) from unnest(p_set.ids, p_set.containers) u(id, container_id)
        where u.id <> all(v_retried));
    end if;
  end if;

  if v_retried is null and p_set.reasons is null and v_ending.states is null and p_set.logged is null then
    update task t set state = :succeeded, ended_at = p_now, updated_at = p_now, reason = null, lease_id = null,
      slots = null, paused_at = null, paused_from = null,
      log_pack = case when t.attempt = 1 then coalesce(p_set.pack, t.log_pack) else t.log_pack end
    where t.id = any(p_set.ids) and (t.state + 0) in (:claimed, :running, :expanding, :paused);
  else
    update task t set
      state = u.target, ended_at = p_now, updated_at = p_now,
      reason = coalesce(u.reason, case when u.target <> :succeeded then t.reason end),
      lease_id = null, slots = null, paused_at = null, paused_from = null,
      log_pack = case when t.attempt = 1 and (p_set.logged is null or l.id is not null) then coalesce(p_set.pack, t.log_pack)
        else t.log_pack end
    from unnest(p_set.ids, p_set.targets, p_set.reasons) u(id, target, reason) left join unnest(p_set.logged) l(id) on l.id = u.id
    where t.id = u.id and (t.state + 0) in (:claimed, :running, :expanding, :paused)
      and (v_retried is null or t.id <> all(v_retried));
    if v_ending.states is not null then perform record_failures(v_ending.ids); end if;
  end if;

  select * into v_after from conclude(v_ending, p_now);
  return json_build_object('codes', p_set.codes,
    'states', case when p_set.codes is null then p_set.states else states_of(p_asked) end, 'transitions', p_set.transitions,
    'cascaded', kinds_of(v_after.cascaded), 'propagations', v_after.propagations,
    'retried', coalesce(cardinality(v_retried), 0), 'lanes', p_set.lanes || v_after.lanes,
    'deliveries', v_after.deliveries, 'unblocked', v_after.unblocked, 'ended', v_after.ended,
    'workflows', (select json_agg(w.id) from (select distinct unnest(p_set.workflows) as id limit 17) w));
end $$;

-- Begins the next attempts of tasks of a set, each at its time; returns the set with what that adds to the answer.
create or replace function begin_retries(p_set settling, p_asked uuid[], p_retried uuid[], p_retry_at timestamptz[],
  p_now timestamptz)
returns settling language plpgsql as $$
begin
  -- Retried tasks have not ended; they are separated before their row changes.
  select json_agg(json_build_object('kind', g.kind_id, 'from', g.state, 'to', g.target, 'durations_ms', g.durations)) into p_set.transitions from (
    select m.kind_id, m.state, m.target,
      json_agg((date_part('epoch', p_now - m.started_at) * 1000)::bigint) filter (where m.started_at is not null)
        as durations
    from (
      select t.kind_id, t.state, t.started_at,
        case when r.id is null then u.target when t.state = :paused then :paused when t.open_gates > 0 then :waiting
          else :pending end as target
      from unnest(p_set.ids, p_set.targets) u(id, target) join task t on t.id = u.id
      left join unnest(p_retried) r(id) on r.id = u.id) m
    group by m.kind_id, m.state, m.target) g;
  perform keep_attempts(array_agg(u.id), array_agg(u.target), array_agg(u.reason), p_now)
  from unnest(p_set.ids, p_set.targets, p_set.reasons) u(id, target, reason) where u.id = any(p_retried);
  update task t set
    state = case when t.state = :paused then :paused when t.open_gates > 0 then :waiting else :pending end,
    paused_from = case when t.state = :paused then :pending end,
    run_at = r.run_at, updated_at = p_now, started_at = null, deadline_at = null, lease_id = null, slots = null,
    reason = r.reason
  from (select v.id, v.run_at, u.reason from unnest(p_retried, p_retry_at) v(id, run_at)
        join unnest(p_set.ids, p_set.reasons) u(id, reason) on u.id = v.id) r
  where t.id = r.id and (t.state + 0) in (:claimed, :running, :expanding, :paused);
  p_set.lanes := p_set.lanes || make_ready(array(
    select t.id from task t where t.id = any(p_retried) and (t.state + 0) = :pending), p_now);
  -- From here on the answer cannot be "all applied as asked".
  p_set.codes := array(
    select coalesce(case when q.id = any(p_retried) then :result_retrying end, p_set.codes[q.ord], :result_applied)
    from unnest(p_asked) with ordinality q(id, ord) order by q.ord)::smallint[];
  return p_set;
end $$;

-- The states of tasks, in the order of the ids; null for unknown ones.
create or replace function states_of(p_ids uuid[])
returns smallint[] language plpgsql as $$
begin
  return array(
    select t.state from unnest(p_ids) with ordinality q(id, ord) left join task t on t.id = q.id order by q.ord);
end $$;

-- [{kind, count}] of some tasks, for metrics.
create or replace function kinds_of(p_ids uuid[])
returns json language sql stable as $$
  select case when cardinality(p_ids) > 0 then (
    select json_agg(json_build_object('kind', g.kind_id, 'count', g.n))
    from (select t.kind_id, count(*) as n from task t where t.id = any(p_ids) group by t.kind_id) g) end
$$;

-- Delay before the next attempt: min(base * factor^(attempt - 1), max), less a random share of `jitter` of it. One
-- random number serves a set: the task's id spreads it.
create or replace function retry_delay(p_retry jsonb, p_attempt integer, p_id uuid, p_jitter double precision)
returns interval language sql immutable as $$
  select least(
      (p_retry ->> 'base_ms')::double precision * power((p_retry ->> 'factor')::double precision, least(p_attempt, 64) - 1),
      (p_retry ->> 'max_ms')::double precision)
    * (1 - (p_retry ->> 'jitter')::double precision
      * mod((p_jitter + abs(hashtext(p_id::text || p_attempt)::bigint) / 2147483648.0)::numeric, 1)::double precision)
    * interval '1 millisecond'
$$;

-- A report on a canceled attempt only releases what the attempt still held.
create or replace function release_canceled(p_ids uuid[], p_codes smallint[])
returns integer[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_ids uuid[];
  v_leases bigint[];
  v_slots bigint[];
  v_amounts bigint[];
begin
  select array_agg(t.id), array_agg(t.lease_id) into v_ids, v_leases
  from unnest(p_ids, p_codes) u(id, code) join task t on t.id = u.id
  where u.code in (:result_unchanged, :result_conflict) and t.state >= :terminal and t.lease_id is not null;
  if v_ids is null then return '{}'; end if;
  select h.slots, h.amounts into v_slots, v_amounts from held_slots(v_ids) h;
  update task set slots = null, lease_id = null where id = any(v_ids) and state >= :terminal;
  perform close_leases(v_leases);
  return return_slots(v_slots, v_amounts);
end $$;
