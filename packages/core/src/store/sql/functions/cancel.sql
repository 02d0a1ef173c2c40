-- Cancels tasks, and releases what canceled attempts hold.
-- Locks: workflows by id, tasks by id, then as conclude.
-- Callers: store/transitions.ts.

-- Cancels the tasks that are not terminal. An open attempt keeps its slots until its report or its deadline, since its
-- work may continue. An attempt whose start was never tried has no worker, and neither has one that waits for its
-- announced nodes. Returns codes (0 applied, 3 conflict, 6 not found) and states in order, and what settle returns.
create or replace function cancel_tasks(p_ids uuid[], p_reason text, p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_codes smallint[];
  v_ids uuid[];
  v_pending uuid[];
  v_untouched uuid[];
  v_leases bigint[];
  v_slots bigint[];
  v_amounts bigint[];
  v_offered bigint[];
  v_workflows uuid[];
  v_linked boolean;
  v_actions boolean;
  v_transitions json;
  v_containers uuid[];
  v_in_trees boolean;
  v_after record;
begin
  perform lock_workflows(p_ids);
  with locked as (
    select t.id, t.workflow_id, t.kind_id, t.state, t.paused_from, t.lease_id, t.slots, t.linked, t.has_actions, t.started_at,
      t.container_id
    from task t where t.id = any(p_ids) order by t.id for no key update
  ), accepted as (
    select * from locked l where l.state < :terminal
  )
  select
    (select array_agg(case when l.id is null then :result_not_found when l.state = :canceled then :result_unchanged
        when l.state >= :terminal then :result_conflict else :result_applied end::smallint order by r.ord)
     from unnest(p_ids) with ordinality r(id, ord) left join locked l on l.id = r.id),
    array_agg(a.id), array_agg(a.id) filter (where a.state = :pending),
    coalesce(array_agg(a.id) filter (where :expanding in (a.state, a.paused_from)), '{}'), array_agg(a.workflow_id),
    bool_or(a.linked), bool_or(a.has_actions), array_agg(a.container_id), bool_or(a.container_id is not null),
    (select json_agg(json_build_object('kind', g.kind_id, 'from', g.state, 'to', :canceled,
      'durations_ms', g.durations)) from (
      select m.kind_id, m.state, json_agg((extract(epoch from v_now - m.started_at) * 1000)::bigint)
          filter (where m.started_at is not null) as durations
      from accepted m group by m.kind_id, m.state) g)
  into v_codes, v_ids, v_pending, v_untouched, v_workflows, v_linked, v_actions, v_containers, v_in_trees, v_transitions
  from accepted a;
  if v_ids is null then return json_build_object('codes', v_codes, 'lanes', '[]'::json, 'deliveries', 0); end if;

  if v_actions then
    v_untouched := v_untouched || tasks_with_untried_start(v_ids);
  end if;
  if cardinality(v_untouched) > 0 then
    select h.slots, h.amounts into v_slots, v_amounts from held_slots(v_untouched) h;
    select array_agg(t.lease_id) into v_leases from task t where t.id = any(v_untouched);
    delete from delivery d using task t
    where d.task_id = any(v_untouched) and d.trigger = 'start' and d.state = 'due' and d.tries = 0
      and t.id = d.task_id and t.attempt = d.attempt;
  end if;

  update task t set state = :canceled, ended_at = v_now, updated_at = v_now, reason = p_reason,
    lease_id = case when t.id = any(v_untouched) then null else t.lease_id end,
    slots = case when t.id = any(v_untouched) then null else t.slots end,
    deadline_at = case
      when t.id = any(v_untouched) then null
      when t.state in (:claimed, :running, :expanding) or t.paused_from in (:claimed, :running, :expanding) then
        coalesce(t.deadline_at + coalesce(v_now - t.paused_at, interval '0'), v_now + t.timeout_secs * interval '1 second')
      end,
    paused_at = null, paused_from = null
  where t.id = any(v_ids) and (t.state + 0) < :terminal;
  perform leave_lanes(v_pending);
  delete from paused_task where task_id = any(v_ids);
  perform check_leases_sooner(v_ids);
  -- Slots that pending ones were released to claim are offered to others; nothing is returned, only checked again.
  v_offered := array(select distinct r.slot from task t, unnest(t.rule_slots) r(slot) where t.id = any(v_pending));
  select * into v_after from conclude(row(v_ids, v_workflows,
    array_fill(:canceled::smallint, array[cardinality(v_ids)]), case when v_in_trees then v_containers end, v_leases,
    v_slots || v_offered, v_amounts || array_fill(0::bigint, array[cardinality(v_offered)]),
    v_linked, v_actions)::ending, v_now);
  return json_build_object('codes', v_codes, 'transitions', v_transitions, 'cascaded', kinds_of(v_after.cascaded),
    'propagations', v_after.propagations, 'lanes', v_after.lanes, 'deliveries', v_after.deliveries, 'unblocked', v_after.unblocked,
    'ended', v_after.ended, 'workflows', (select json_agg(w.id) from (select distinct unnest(v_workflows) as id limit 17) w));
end $$;

-- Returns which of these tasks wait for a start delivery that was never tried.
create or replace function tasks_with_untried_start(p_ids uuid[])
returns uuid[] language plpgsql as $$
begin
  return array(
    select t.id from task t join delivery d on d.task_id = t.id and d.attempt = t.attempt
    where t.id = any(p_ids) and (t.state = :claimed or (t.state = :paused and t.paused_from = :claimed))
      and d.trigger = 'start' and d.state = 'due' and d.tries = 0);
end $$;

-- Releases the slots of canceled attempts, when an operator vouches that no process works on them. Codes: 0 applied,
-- 2 unchanged (it holds nothing), 3 conflict (not canceled), 6 not found.
create or replace function release_tasks(p_ids uuid[])
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_codes smallint[];
  v_held uuid[];
begin
  perform lock_workflows(p_ids);
  with locked as (
    select t.id, t.state, t.lease_id from task t where t.id = any(p_ids) order by t.id for no key update
  )
  select array_agg(case when coalesce(l.state, a.state) is null then :result_not_found
    when coalesce(l.state, a.state) <> :canceled then :result_conflict
      when l.lease_id is null then :result_unchanged else :result_applied end::smallint order by r.ord),
    coalesce(array_agg(l.id) filter (where l.state = :canceled and l.lease_id is not null), '{}')
  into v_codes, v_held
  from unnest(p_ids) with ordinality r(id, ord) left join locked l on l.id = r.id left join archive_task a on a.id = r.id;
  return json_build_object('codes', v_codes, 'lanes',
    release_canceled(v_held, array_fill(:result_conflict::smallint, array[cardinality(v_held)])));
end $$;
