-- Results of tasks.
-- Locks: task_data by id.
-- Callers: store/tree-reads.ts; settle_reports.

-- Stores the results of tasks, [{task_id, data}], whose reports were applied. p_codes: those of settle.
create or replace function store_results(p_ids uuid[], p_codes json, p_results jsonb, p_now timestamptz)
returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  insert into task_data (task_id, data, created_at)
  select r.task_id, coalesce(r.data, 'null'), p_now
  from unnest(p_ids) with ordinality u(id, ord)
  join jsonb_to_recordset(p_results) as r(task_id uuid, data jsonb) on r.task_id = u.id
  join task t on t.id = r.task_id
  where coalesce((p_codes ->> (u.ord - 1)::integer)::integer, :result_applied) = :result_applied
  order by r.task_id
  on conflict (task_id) do update set data = excluded.data;
end $$;

-- Returns a page of results: of a workflow, below a container, or of what precedes a task in its container. Ordered by
-- container and position, after the task p_after: each page continues where the last one ended, whatever the cost of
-- finding it. One row without a state if p_after is not among these tasks.
create or replace function read_results(p_scope text, p_id uuid, p_after uuid, p_limit integer)
returns table (task_id uuid, local_id text, state smallint, data jsonb, kind text)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_own uuid := p_id;
  v_before integer;
  v_containers uuid[];
  v_container uuid;
  v_at uuid;
  v_position integer;
  v_left integer := p_limit;
  v_read integer;
begin
  if p_scope = 'before' then
    select t.container_id, t.position into v_own, v_before from task_all t where t.id = p_id;
  end if;
  with recursive below as (
    select c.id from container_all c where c.parent_id = v_own and (v_before is null or c.position < v_before)
    union all
    select c.id from below b join container_all c on c.parent_id = b.id
  )
  select array_agg(u.id order by u.id) into v_containers from (select v_own as id union all select id from below) u;
  if p_after is not null then
    select t.container_id, t.position into v_at, v_position from task_all t where t.id = p_after;
    if v_at is null or v_at <> all (v_containers) then
      return query select p_after, null::text, null::smallint, null::jsonb, null::text;
      return;
    end if;
  end if;
  foreach v_container in array v_containers loop
    continue when v_container < v_at;
    return query
      select t.id, t.local_id, t.state, coalesce(d.data, a.data), k.name
      from (
        select r.id, r.local_id, r.state, r.kind_id, r.position from task_all r
        where r.container_id = v_container and r.position > case when v_container = v_at then v_position else -1 end
          and (v_before is null or v_container <> v_own or r.position < v_before)
        order by r.position) t
      left join task_data d on d.task_id = t.id left join archive_task_data a on a.task_id = t.id
      join kind k on k.id = t.kind_id
      where d.task_id is not null or a.task_id is not null
      order by t.position limit v_left;
    get diagnostics v_read = row_count;
    v_left := v_left - v_read;
    exit when v_left <= 0;
  end loop;
end $$;
