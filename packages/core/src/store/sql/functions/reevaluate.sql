-- A second look at workflows, which advances containers that stand still.
-- Locks: workflows by id, then as advance_containers.
-- Callers: store/trees.ts.

-- Reevaluates the open containers of some workflows; returns what settle returns. If the counts are consistent there is
-- nothing to find, and nothing is locked. p_tasks: restricts it to the roots and the containers above these tasks, so
-- that it costs the same in large and small trees; null: everything.
create or replace function reevaluate_workflows(p_workflows uuid[], p_tasks uuid[], p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_looked uuid[];
  v_stuck uuid[];
  v_found uuid[];
  v_walk record;
  v_ended uuid[];
begin
  if p_tasks is null then
    v_looked := array(select c.id from container c where c.workflow_id = any(p_workflows) and c.state + 0 = :running);
  else
    with recursive above as (
      select u.id from unnest(p_workflows) u(id)
      union
      select t.container_id from task t where t.id = any(p_tasks) and t.container_id is not null
      union
      select c.parent_id from above a join container c on c.id = a.id where c.parent_id is not null
    )
    select array_agg(a.id) into v_looked from above a;
  end if;
  v_stuck := array(
    select distinct c.workflow_id from container c
    where c.id = any(v_looked) and c.workflow_id = any(p_workflows) and c.state + 0 = :running and (
      c.open = 0 and c.open_generators = 0
      or c.mode = :sequential and not exists (
        select 1 from task t where t.container_id = c.id and t.position = c.cursor and t.state + 0 < :terminal)
        and not exists (
        select 1 from container k where k.parent_id = c.id and k.position = c.cursor and k.state + 0 < :terminal)
        and c.open > 0));
  if cardinality(v_stuck) = 0 then return null; end if;
  perform 1 from workflow where id = any(v_stuck) order by id for no key update;
  v_found := array(select c.id from container c where c.workflow_id = any(v_stuck) and c.state + 0 = :running);
  select * into v_walk from advance_containers(v_found, v_found, v_now);
  v_ended := count_skipped(v_walk.workflows, v_now);
  perform set_outcomes(v_stuck);
  return json_build_object('lanes', v_walk.lanes, 'unblocked', v_walk.unblocked, 'ended', v_ended,
    'workflows', (select json_agg(w.id) from (select unnest(v_stuck) as id limit 17) w));
end $$;
