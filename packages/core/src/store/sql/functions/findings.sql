-- Callers: store/tasks-before.ts. Locks nothing.

-- Counts the tasks of these kinds (null: all) that precede a task in its sequence, at any depth, by state.
create or replace function count_tasks_before(p_task uuid, p_kinds text[])
returns table (state smallint, n bigint)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_own uuid;
  v_before integer;
begin
  select t.container_id, t.position into v_own, v_before from task_all t where t.id = p_task;
  return query
    with recursive below as (
      select c.id from container_all c where c.parent_id = v_own and c.position < v_before
      union all
      select c.id from below b join container_all c on c.parent_id = b.id
    ), counted as (
      select r.kind_id, (r.state + 0)::smallint as state from task_all r
        where r.container_id = v_own and r.position < v_before
      union all
      select r.kind_id, (r.state + 0)::smallint from below b join task_all r on r.container_id = b.id
    )
    select c.state, count(*) from counted c join kind k on k.id = c.kind_id where p_kinds is null or k.name = any(p_kinds)
    group by c.state;
end $$;
