-- Carries ends of tasks to dependents in other workflows, one parent a call.
-- Locks: workflows by id, then tasks by id.
-- Callers: store/transitions.ts.

-- Carries the ends of parents to children in other workflows, one parent per transaction; returns null when none is
-- left.
create or replace function relay_one(p_now timestamptz)
returns json language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_parent uuid;
  v_children uuid[];
  v_failed uuid[];
  v_opened uuid[];
  v_cascaded uuid[];
  v_propagations jsonb;
  v_further jsonb;
  v_deliveries integer := 0;
  v_ended uuid[];
  v_lanes integer[] := '{}';
begin
  select r.parent_id into v_parent from relay r order by r.created_at limit 1 for update skip locked;
  if not found then return null; end if;
  v_children := array(select e.child_id from edge e where e.parent_id = v_parent and e.crosses and not e.relayed);
  perform 1 from workflow w where w.id in (select t.workflow_id from task t where t.id = any(v_children))
  order by w.id for no key update;
  perform 1 from task t where t.id = any(v_children) order by t.id for no key update;
  with relayed_edge as (
    update edge e set relayed = true where e.parent_id = v_parent and e.crosses and not e.relayed
    returning e.child_id, e.requires_success
  ), moved as (
    update task t set
      open_gates = t.open_gates - 1,
      state = case when x.fails then :failed when t.state = :waiting and t.open_gates = 1 then :pending else t.state end,
      run_at = case when not x.fails and t.state = :waiting and t.open_gates = 1 then greatest(t.run_at, v_now)
        else t.run_at end,
      ended_at = case when x.fails then v_now else t.ended_at end,
      paused_at = case when x.fails then null else t.paused_at end,
      paused_from = case when x.fails then null else t.paused_from end,
      cause = case when x.fails then coalesce(x.cause, x.parent_id) else t.cause end,
      reason = case
        when x.fails and x.cause is not null then x.reason
        when x.fails then 'the task it depends on, "' || left(x.name, 200) || '" (' || x.parent_id || '), '
          || case x.state when :canceled then 'was canceled' when :timed_out then 'timed out' else 'failed' end
        else t.reason end,
      updated_at = v_now
    from (
      select c.id, p.cause, p.id as parent_id, p.name, p.state, p.reason,
        relayed_edge.requires_success and not passes(p.policy, p.state)
          and (c.state = :waiting or (c.state = :paused and c.paused_from in (:waiting, :pending))) as fails
      from relayed_edge join task c on c.id = relayed_edge.child_id
      join (select id, cause, name, state, policy, reason from task where id = v_parent
            union all select id, cause, name, state, policy, reason from archive_task where id = v_parent) p on true) x
    where t.id = x.id
    returning t.id, x.fails, t.state, x.state as parent_state
  )
  select array_agg(id) filter (where fails), array_agg(id) filter (where not fails and state = :pending),
    case when count(*) > 0 then jsonb_build_array(jsonb_build_object('state', min(parent_state), 'count', count(*))) end
  into v_failed, v_opened, v_propagations from moved;
  delete from relay where parent_id = v_parent;
  if v_opened is not null then v_lanes := make_ready(v_opened, v_now); end if;
  if v_failed is not null then
    select c.lanes || v_lanes, c.deliveries, c.cascaded, c.propagations, c.ended
    into v_lanes, v_deliveries, v_cascaded, v_further, v_ended
    from conclude(row(v_failed, array(
        select t.workflow_id from unnest(v_failed) with ordinality f(id, ord) join task t on t.id = f.id order by f.ord),
      array_fill(:failed::smallint, array[cardinality(v_failed)]), null, null, null, null, true, true)::ending, v_now) c;
  end if;
  return json_build_object('lanes', v_lanes, 'deliveries', v_deliveries, 'cascaded', kinds_of(v_failed || v_cascaded),
    'propagations', coalesce(v_propagations, '[]') || coalesce(v_further, '[]'),
    'unblocked', coalesce(cardinality(v_opened), 0), 'ended', v_ended);
end $$;
