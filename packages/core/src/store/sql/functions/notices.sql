-- Notices of ended tasks and workflows.
-- Locks: workflow_notice by workflow, then the rows it inserts.
-- Callers: store/notices.ts; settle_reports.

-- Writes notices: [{task_id: or the workflow itself, workflow_id, attempt: or the run of the workflow, ordinal, content:
-- with its origin, idempotency_key}]. Existing notices stay unchanged. Returns the number of new ones.
create or replace function write_notices(p_notices jsonb, p_now timestamptz)
returns integer language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_written integer;
begin
  insert into delivery (id, task_id, workflow_id, attempt, trigger, ordinal, origin, action, idempotency_key, state,
    next_try_at, traceparent, created_at)
  select delivery_id(x.task_id, x.attempt, 'notify', x.ordinal), x.task_id, x.workflow_id, x.attempt, 'notify', x.ordinal,
    x.content ->> 'origin', x.content, x.idempotency_key, 'due', p_now, w.traceparent, p_now
  from jsonb_to_recordset(p_notices) as x(task_id uuid, workflow_id uuid, attempt integer, ordinal smallint,
    content jsonb, idempotency_key text)
  left join workflow w on w.id = x.workflow_id
  order by x.task_id, x.ordinal
  on conflict (task_id, attempt, trigger, ordinal) do nothing;
  get diagnostics v_written = row_count;
  return v_written;
end $$;

-- Writes notices of succeeded tasks: [{task_id, notices: [content with its origin], once_per_workflow: once per run of
-- it}]. Of tasks that notify once, the first of a run does; the member `sent` of the others' results is false.
-- p_codes: those of settle. Returns the number of notices.
create or replace function write_task_notices(p_ids uuid[], p_codes json, p_notices jsonb, p_now timestamptz)
returns integer language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_notifying uuid[];
  v_silent uuid[];
  v_written integer;
begin
  v_notifying := array(
    select u.id from unnest(p_ids) with ordinality u(id, ord)
    join jsonb_to_recordset(p_notices) as x(task_id uuid) on x.task_id = u.id
    join task t on t.id = u.id
    where t.state = :succeeded and coalesce((p_codes ->> (u.ord - 1)::integer)::integer, :result_applied)
      = :result_applied);
  with asked as (
    select distinct on (t.workflow_id) t.workflow_id, t.id
    from jsonb_to_recordset(p_notices) as x(task_id uuid, once_per_workflow boolean) join task t on t.id = x.task_id
    where x.once_per_workflow and x.task_id = any(v_notifying) order by t.workflow_id, t.id
  ), first as (
    insert into workflow_notice as n (workflow_id, error_run) select a.workflow_id, 0 from asked a order by a.workflow_id
    on conflict (workflow_id) do update set error_run = n.run where n.error_run is distinct from n.run
    returning n.workflow_id
  )
  select coalesce(array_agg(x.task_id), '{}') into v_silent
  from jsonb_to_recordset(p_notices) as x(task_id uuid, once_per_workflow boolean)
  where x.once_per_workflow and x.task_id = any(v_notifying)
    and x.task_id not in (select a.id from asked a join first f on f.workflow_id = a.workflow_id);
  v_written := write_notices((
    select jsonb_agg(jsonb_build_object('task_id', t.id, 'workflow_id', t.workflow_id, 'attempt', t.attempt,
      'ordinal', a.ord - 1, 'content', a.value, 'idempotency_key', t.id || ':notify' || case when a.ord > 1 then ':' || a.ord else '' end
        || case when t.attempt > 1 then ':attempt-' || t.attempt else '' end))
    from jsonb_to_recordset(p_notices) as x(task_id uuid, notices jsonb)
    join task t on t.id = x.task_id
    cross join lateral jsonb_array_elements(x.notices) with ordinality a(value, ord)
    where x.task_id = any(v_notifying) and x.task_id <> all(v_silent)), p_now);
  update task_data d set data = d.data || '{"sent": false}'
  where d.task_id = any(v_silent) and jsonb_typeof(d.data) = 'object';
  return coalesce(v_written, 0);
end $$;

-- Returns the notification requests of ended workflows, once per run.
create or replace function take_ends(p_workflows uuid[])
returns table (workflow_id uuid, run integer, entries jsonb, name text, state smallint, reason text,
  created_at timestamptz, ended_at timestamptz, job_run_id uuid, counts jsonb)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  -- Most have none.
  v_asking uuid[] := array(
    select n.workflow_id from workflow_notice n
    where n.workflow_id = any(p_workflows) and n.entries is not null and n.ended_run is distinct from n.run);
begin
  if cardinality(v_asking) = 0 then return; end if;
  return query
  with ended as (
    select w.id, w.name, c.state, c.reason, w.created_at, w.ended_at, w.job_run_id
    from workflow_all w join container_all c on c.id = w.id
    where w.id = any(v_asking) and w.ended_at is not null and c.state >= :terminal
  ), taken as (
    update workflow_notice n set ended_run = n.run from ended e
    where n.workflow_id = e.id and n.entries is not null and n.ended_run is distinct from n.run
    returning n.workflow_id, n.run, n.entries
  )
  select t.workflow_id, t.run, t.entries, e.name, e.state, e.reason, e.created_at, e.ended_at, e.job_run_id,
    (select jsonb_object_agg(s.state, s.n)
     from (select k.state, count(*) as n from task_all k where k.workflow_id = e.id group by k.state) s)
  from taken t join ended e on e.id = t.workflow_id order by t.workflow_id;
end $$;
