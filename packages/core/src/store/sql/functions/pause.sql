-- Pauses and resumes tasks and whole workflows.
-- Locks: workflows by id, then tasks by id, then leases by id.
-- Callers: store/transitions.ts, store/run-operations.ts.

-- Pauses waiting, pending, claimed and running tasks. Codes: 0 applied, 2 unchanged, 3 conflict, 6 not found.
create or replace function pause_tasks(p_ids uuid[], p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_codes smallint[];
  v_pending uuid[];
  v_transitions json;
  v_workflows json;
begin
  perform lock_workflows(p_ids);
  with locked as (
    select t.id, t.workflow_id, t.kind_id, t.state from task t where t.id = any(p_ids) order by t.id for no key update
  )
  select array_agg(case when l.id is null then :result_not_found when l.state = :paused then :result_unchanged
    when l.state >= :terminal then :result_conflict else :result_applied end::smallint
      order by r.ord),
    array_agg(l.id) filter (where l.state = :pending),
    (select json_agg(json_build_object('kind', g.kind_id, 'from', g.state, 'to', :paused, 'count', g.n)) from (
      select m.kind_id, m.state, count(*) as n from locked m where m.state < :paused group by m.kind_id, m.state) g),
    (select json_agg(w.workflow_id) from (select distinct x.workflow_id from locked x limit 17) w)
  into v_codes, v_pending, v_transitions, v_workflows
  from unnest(p_ids) with ordinality r(id, ord) left join locked l on l.id = r.id;
  with paused as (
    update task t set state = :paused, paused_from = t.state, paused_at = v_now, updated_at = v_now
    where t.id = any(p_ids) and (t.state + 0) < :paused returning t.id
  )
  insert into paused_task as p (task_id, paused_at) select id, v_now from paused
  on conflict (task_id) do update set paused_at = excluded.paused_at;
  perform leave_lanes(v_pending);
  return json_build_object('codes', v_codes, 'transitions', v_transitions, 'workflows', v_workflows,
    'lanes', yield_slots(v_pending));
end $$;

-- Resumes paused tasks: an open attempt continues, its deadline extended by the pause; any other task is pending or
-- waiting as its gates imply. Codes as in pause.
create or replace function resume_tasks(p_ids uuid[], p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_codes smallint[];
  v_ids uuid[];
  v_transitions json;
  v_lanes integer[];
  v_workflows json;
begin
  perform lock_workflows(p_ids);
  with locked as (
    select t.id, t.workflow_id, t.kind_id, t.state, t.paused_from, t.open_gates
    from task t where t.id = any(p_ids) order by t.id for no key update
  )
  select array_agg(case when l.id is null then :result_not_found when l.state = :paused then :result_applied
    when l.state >= :terminal then :result_conflict else :result_unchanged end::smallint
      order by r.ord),
    array_agg(l.id) filter (where l.state = :paused),
    (select json_agg(json_build_object('kind', g.kind_id, 'from', :paused, 'to', g.target, 'count', g.n)) from (
      select m.kind_id, case when m.paused_from > :pending then m.paused_from when m.open_gates > 0 then :waiting
        else :pending end as target,
        count(*) as n from locked m where m.state = :paused group by 1, 2) g),
    (select json_agg(w.workflow_id) from (select distinct x.workflow_id from locked x limit 17) w)
  into v_codes, v_ids, v_transitions, v_workflows
  from unnest(p_ids) with ordinality r(id, ord) left join locked l on l.id = r.id;
  update task t set
    state = case when t.paused_from > :pending then t.paused_from when t.open_gates > 0 then :waiting else :pending end,
    deadline_at = t.deadline_at + (v_now - t.paused_at),
    run_at = case when t.paused_from > :pending or t.open_gates > 0 or t.run_at > v_now then t.run_at else v_now end,
    paused_at = null, paused_from = null, updated_at = v_now
  where t.id = any(v_ids) and (t.state + 0) = :paused;
  delete from paused_task where task_id = any(v_ids);
  v_lanes := make_ready(array(select t.id from task t where t.id = any(v_ids) and (t.state + 0) = :pending), v_now);
  -- The sweep finds leases by a lower bound of their deadlines, which did not include paused tasks.
  perform check_leases_sooner(v_ids);
  return json_build_object('codes', v_codes, 'transitions', v_transitions, 'lanes', v_lanes, 'workflows', v_workflows);
end $$;

-- Pauses or resumes whole workflows: nodes added while one is paused are paused too. Returns what pause_tasks and
-- resume_tasks return, with the number of tasks changed by workflow (runs), or null if there are no such workflows.
create or replace function pause_workflows(p_workflows uuid[], p_pause boolean, p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_ids uuid[];
  v_of uuid[];
  v_moved json;
begin
  perform 1 from workflow w where w.id = any(p_workflows) order by w.id for no key update;
  update workflow set paused = p_pause and (paused or remaining > 0) where id = any(p_workflows);
  if not found then return null; end if;
  select array_agg(t.id order by t.id), array_agg(t.workflow_id order by t.id) into v_ids, v_of
  from task t where t.workflow_id = any(p_workflows)
    and case when p_pause then (t.state + 0) < :paused else (t.state + 0) = :paused end;
  if v_ids is null then return json_build_object('codes', '[]'::json, 'lanes', '[]'::json); end if;
  v_moved := case when p_pause then pause_tasks(v_ids, p_now) else resume_tasks(v_ids, p_now) end;
  return (v_moved::jsonb || jsonb_build_object('runs', (
    select jsonb_agg(jsonb_build_object('id', r.id, 'tasks', r.n)) from (
      select v_of[c.ord] as id, count(*) as n from json_array_elements_text(v_moved->'codes') with ordinality c(code, ord)
      where c.code::smallint = :result_applied group by 1) r)))::json;
end $$;
