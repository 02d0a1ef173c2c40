-- The archive: moves ended workflows there and back, and deletes them. Views over both, with their common columns.
-- Locks: workflows, skipping locked ones.
-- Callers: store/retention.ts, store/transitions.ts.

-- Returns the columns that two tables have in common, as a list for a statement; other columns are not copied.
create or replace function common_columns(p_one regclass, p_other regclass)
returns text language sql stable as $$
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
  from pg_attribute a join pg_attribute b on b.attrelid = p_other and b.attname = a.attname and not b.attisdropped
  where a.attrelid = p_one and a.attnum > 0 and not a.attisdropped and b.attnum > 0
$$;

-- Copies the rows whose p_key is among p_ids from one table to its counterpart, column by column.
create or replace function copy_rows(p_from regclass, p_to regclass, p_key name, p_ids uuid[])
returns void language plpgsql as $$
begin
  execute format('insert into %1$s (%2$s) select %2$s from %3$s where %4$I = any($1)',
    p_to, common_columns(p_from, p_to), p_from, p_key) using p_ids;
end $$;

-- Moves whole workflows that ended before a time to the archive; returns the number of tasks. Workflows with open
-- deliveries or relays wait.
create or replace function archive_workflows(p_before timestamptz, p_limit integer, p_now timestamptz)
returns json language plpgsql as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_workflows uuid[];
  v_tasks uuid[];
begin
  select array_agg(w.id) into v_workflows from (
    select c.id from (
      select w.id, w.ended_at, sum(w.task_count) over (order by w.ended_at, w.id) - w.task_count as before
      -- Open deliveries keep their workflow in place.
      from (select o.id, o.ended_at, o.task_count from workflow o
            where o.ended_at is not null and o.ended_at < p_before and not exists (
              select 1 from delivery d where d.workflow_id = o.id and d.state in ('due', 'held'))
            order by o.ended_at, o.id limit p_limit) w) c
    where c.before < p_limit) w;
  if v_workflows is null then return json_build_object('archived', 0, 'workflows', 0); end if;
  select array_agg(w.id) into v_workflows from (
    select id from workflow where id = any(v_workflows) and remaining = 0 order by id for update skip locked) w;
  -- So do attempts that still hold slots, and ends not yet propagated to other workflows.
  v_workflows := array(
    select u.id from unnest(v_workflows) u(id)
    where not exists (select 1 from task t where t.workflow_id = u.id and t.lease_id is not null)
      and not exists (select 1 from task t join relay r on r.parent_id = t.id where t.workflow_id = u.id)
      and not exists (select 1 from finalization f where f.workflow_id = u.id));
  if cardinality(v_workflows) = 0 then return json_build_object('archived', 0, 'workflows', 0); end if;
  select array_agg(t.id) into v_tasks from task t where t.workflow_id = any(v_workflows);

  insert into archive_workflow (id, name, linked, task_count, remaining, succeeded, failed, canceled, skipped, failing,
    failed_task, outcome, kinds, is_tree, paused, job_run_id, traceparent, created_at, ended_at, archived_at)
  select w.id, w.name, w.linked, w.task_count, w.remaining, w.succeeded, w.failed, w.canceled, w.skipped, w.failing,
    w.failed_task, w.outcome, w.kinds, w.is_tree, w.paused, w.job_run_id, w.traceparent, w.created_at, w.ended_at, v_now
  from workflow w where w.id = any(v_workflows);
  perform copy_rows('task', 'archive_task', 'id', v_tasks);
  perform copy_rows('task_spec', 'archive_task_spec', 'task_id', v_tasks);
  perform copy_rows('task_data', 'archive_task_data', 'task_id', v_tasks);
  perform copy_rows('edge', 'archive_edge', 'child_id', v_tasks);
  perform copy_rows('task_attempt', 'archive_task_attempt', 'task_id', v_tasks);
  perform archive_containers(v_workflows, v_tasks);
  delete from edge where child_id = any(v_tasks);
  delete from task_attempt where task_id = any(v_tasks);
  delete from task_data where task_id = any(v_tasks);
  delete from task_spec where task_id = any(v_tasks);
  delete from sent_secret where task_id = any(v_tasks);
  -- A delivery about a workflow has its id in the place of a task's. Those of starts tell of attempts.
  delete from delivery where task_id = any(v_tasks || v_workflows) and state = 'delivered' and trigger <> 'start';
  delete from paused_task where task_id = any(v_tasks);
  delete from task where id = any(v_tasks);
  delete from workflow where id = any(v_workflows);
  return json_build_object('archived', coalesce(cardinality(v_tasks), 0), 'workflows', cardinality(v_workflows));
end $$;

-- The part of an archived workflow that only trees have.
create or replace function archive_containers(p_workflows uuid[], p_tasks uuid[])
returns void language plpgsql as $$
begin
  if not exists (select 1 from container where workflow_id = any(p_workflows)) then return; end if;
  perform copy_rows('container', 'archive_container', 'workflow_id', p_workflows);
  perform copy_rows('generator', 'archive_generator', 'task_id', p_tasks);
  perform copy_rows('container_generator', 'archive_container_generator', 'task_id', p_tasks);
  delete from container_generator where task_id = any(p_tasks);
  delete from generator where task_id = any(p_tasks);
  delete from container where workflow_id = any(p_workflows);
end $$;

create or replace function unarchive_containers(p_workflow uuid, p_tasks uuid[])
returns void language plpgsql as $$
begin
  perform copy_rows('archive_container', 'container', 'workflow_id', array[p_workflow]);
  perform copy_rows('archive_generator', 'generator', 'task_id', p_tasks);
  perform copy_rows('archive_container_generator', 'container_generator', 'task_id', p_tasks);
  delete from archive_container_generator where task_id = any(p_tasks);
  delete from archive_generator where task_id = any(p_tasks);
  delete from archive_container where workflow_id = p_workflow;
end $$;

-- Restores a workflow from the archive, for a retry. Returns true if it was there.
create or replace function unarchive_workflow(p_workflow uuid)
returns boolean language plpgsql as $$
declare
  v_tasks uuid[];
begin
  perform 1 from archive_workflow where id = p_workflow for update;
  if not found then return false; end if;
  v_tasks := array(select id from archive_task where workflow_id = p_workflow);
  perform copy_rows('archive_workflow', 'workflow', 'id', array[p_workflow]);
  perform unarchive_containers(p_workflow, v_tasks);
  perform copy_rows('archive_task', 'task', 'id', v_tasks);
  perform copy_rows('archive_task_spec', 'task_spec', 'task_id', v_tasks);
  perform copy_rows('archive_task_data', 'task_data', 'task_id', v_tasks);
  perform copy_rows('archive_edge', 'edge', 'child_id', v_tasks);
  perform copy_rows('archive_task_attempt', 'task_attempt', 'task_id', v_tasks);
  delete from archive_task_attempt where task_id = any(v_tasks);
  delete from archive_edge where child_id = any(v_tasks);
  delete from archive_task_spec where task_id = any(v_tasks);
  delete from archive_task_data where task_id = any(v_tasks);
  delete from archive_task where id = any(v_tasks);
  delete from archive_workflow where id = p_workflow;
  return true;
end $$;

-- Deletes archived workflows that ended before a time; returns the number of tasks.
create or replace function delete_archived(p_before timestamptz, p_limit integer)
returns integer language plpgsql as $$
declare
  v_workflows uuid[];
  v_tasks uuid[];
begin
  select array_agg(c.id) into v_workflows from (
    select w.id, sum(w.task_count) over (order by w.ended_at, w.id) - w.task_count as before
    from (select id, ended_at, task_count from archive_workflow where ended_at < p_before
          order by ended_at, id limit p_limit) w) c
  where c.before < p_limit;
  if v_workflows is null then return 0; end if;
  v_tasks := array(select id from archive_task where workflow_id = any(v_workflows));
  delete from archive_edge where child_id = any(v_tasks);
  delete from archive_task_attempt where task_id = any(v_tasks);
  perform delete_logs(v_tasks);
  perform forget_failures(v_tasks);
  delete from artifact where task_id = any(v_tasks) and not pinned;
  delete from archive_task_spec where task_id = any(v_tasks);
  delete from archive_task_data where task_id = any(v_tasks);
  delete from dedupe_entry where task_id = any(v_tasks);
  delete from delivery where task_id = any(v_tasks || v_workflows);
  delete from workflow_notice where workflow_id = any(v_workflows);
  delete from task_collection_data where workflow_id = any(v_workflows);
  delete from archive_generator where task_id = any(v_tasks);
  delete from archive_container_generator where task_id = any(v_tasks);
  delete from archive_container where workflow_id = any(v_workflows);
  delete from archive_task where id = any(v_tasks);
  delete from archive_workflow where id = any(v_workflows);
  return cardinality(v_tasks);
end $$;

-- Both together, with the columns that both have.
drop view if exists task_all, workflow_all, container_all;
do $$
declare
  v_table text;
begin
  foreach v_table in array array['task', 'container', 'workflow'] loop
    execute format(
      'create view %1$I as select %2$s, false as archived from %3$I union all select %2$s, true from %4$I',
      v_table || '_all', common_columns(v_table::regclass, ('archive_' || v_table)::regclass), v_table, 'archive_' || v_table);
  end loop;
end $$;
