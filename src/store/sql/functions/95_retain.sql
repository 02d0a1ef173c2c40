-- Moves whole workflows that ended before a moment into the archive; returns how many tasks moved. Workflows whose
-- deliveries or relays are under way wait.
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
      -- Deliveries under way keep their workflow where it is.
      from (select o.id, o.ended_at, o.task_count from workflow o
            where o.ended_at is not null and o.ended_at < p_before and not exists (
              select 1 from delivery d where d.workflow_id = o.id and d.state in ('due', 'held'))
            order by o.ended_at, o.id limit p_limit) w) c
    where c.before < p_limit) w;
  if v_workflows is null then return json_build_object('archived', 0, 'workflows', 0); end if;
  select array_agg(w.id) into v_workflows from (
    select id from workflow where id = any(v_workflows) and remaining = 0 order by id for update skip locked) w;
  -- So do attempts that still hold something, and ends that other workflows have not been told.
  v_workflows := array(
    select u.id from unnest(v_workflows) u(id)
    where not exists (select 1 from task t where t.workflow_id = u.id and t.lease_id is not null)
      and not exists (select 1 from task t join relay r on r.parent_id = t.id where t.workflow_id = u.id)
      and not exists (select 1 from finalization f where f.workflow_id = u.id));
  if cardinality(v_workflows) = 0 then return json_build_object('archived', 0, 'workflows', 0); end if;
  select array_agg(t.id) into v_tasks from task t where t.workflow_id = any(v_workflows);

  insert into archive_workflow select w.*, v_now from workflow w where w.id = any(v_workflows);
  insert into archive_task select t.* from task t where t.id = any(v_tasks);
  insert into archive_task_spec select s.* from task_spec s where s.task_id = any(v_tasks);
  insert into archive_task_data select s.* from task_data s where s.task_id = any(v_tasks);
  insert into archive_edge select e.* from edge e where e.child_id = any(v_tasks);
  perform archive_containers(v_workflows, v_tasks);
  delete from edge where child_id = any(v_tasks);
  delete from task_data where task_id = any(v_tasks);
  delete from task_spec where task_id = any(v_tasks);
  -- What tells of a workflow has its id in the place of a task's.
  delete from delivery where task_id = any(v_tasks || v_workflows) and state = 'delivered';
  delete from task where id = any(v_tasks);
  delete from workflow where id = any(v_workflows);
  return json_build_object('archived', coalesce(cardinality(v_tasks), 0), 'workflows', cardinality(v_workflows));
end $$;

-- The part of an archived workflow that only trees have.
create or replace function archive_containers(p_workflows uuid[], p_tasks uuid[])
returns void language plpgsql as $$
begin
  if not exists (select 1 from container where workflow_id = any(p_workflows)) then return; end if;
  insert into archive_container select c.* from container c where c.workflow_id = any(p_workflows);
  insert into archive_generator select g.* from generator g where g.task_id = any(p_tasks);
  insert into archive_filler select f.* from filler f where f.task_id = any(p_tasks);
  delete from filler where task_id = any(p_tasks);
  delete from generator where task_id = any(p_tasks);
  delete from container where workflow_id = any(p_workflows);
end $$;

create or replace function unarchive_containers(p_workflow uuid, p_tasks uuid[])
returns void language plpgsql as $$
begin
  insert into container select c.* from archive_container c where c.workflow_id = p_workflow;
  insert into generator select g.* from archive_generator g where g.task_id = any(p_tasks);
  insert into filler select f.* from archive_filler f where f.task_id = any(p_tasks);
  delete from archive_filler where task_id = any(p_tasks);
  delete from archive_generator where task_id = any(p_tasks);
  delete from archive_container where workflow_id = p_workflow;
end $$;

-- Brings a workflow back from the archive, for a retry. True where it was there.
create or replace function unarchive_workflow(p_workflow uuid)
returns boolean language plpgsql as $$
declare
  v_tasks uuid[];
begin
  perform 1 from archive_workflow where id = p_workflow for update;
  if not found then return false; end if;
  v_tasks := array(select id from archive_task where workflow_id = p_workflow);
  insert into workflow (id, name, linked, task_count, remaining, is_tree, paused, job_run_id, traceparent, created_at, ended_at)
  select w.id, w.name, w.linked, w.task_count, w.remaining, w.is_tree, w.paused, w.job_run_id, w.traceparent, w.created_at,
    w.ended_at
  from archive_workflow w where w.id = p_workflow;
  perform unarchive_containers(p_workflow, v_tasks);
  insert into task select t.* from archive_task t where t.id = any(v_tasks);
  insert into task_spec select s.* from archive_task_spec s where s.task_id = any(v_tasks);
  insert into task_data select s.* from archive_task_data s where s.task_id = any(v_tasks);
  insert into edge select e.* from archive_edge e where e.child_id = any(v_tasks);
  delete from archive_edge where child_id = any(v_tasks);
  delete from archive_task_spec where task_id = any(v_tasks);
  delete from archive_task_data where task_id = any(v_tasks);
  delete from archive_task where id = any(v_tasks);
  delete from archive_workflow where id = p_workflow;
  return true;
end $$;

-- Deletes archived workflows that ended before a moment; returns how many tasks went.
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
  delete from archive_task_spec where task_id = any(v_tasks);
  delete from archive_task_data where task_id = any(v_tasks);
  delete from dedupe_entry where task_id = any(v_tasks);
  delete from delivery where task_id = any(v_tasks || v_workflows);
  delete from workflow_notice where workflow_id = any(v_workflows);
  delete from task_collection_data where workflow_id = any(v_workflows);
  delete from archive_generator where task_id = any(v_tasks);
  delete from archive_filler where task_id = any(v_tasks);
  delete from archive_container where workflow_id = any(v_workflows);
  delete from archive_task where id = any(v_tasks);
  delete from archive_workflow where id = any(v_workflows);
  return cardinality(v_tasks);
end $$;

drop view if exists task_all, workflow_all, container_all;
create view task_all as
  select t.*, false as archived from task t union all select t.*, true from archive_task t;
create view container_all as
  select c.*, false as archived from container c union all select c.*, true from archive_container c;
create view workflow_all as
  select w.id, w.name, w.linked, w.task_count, w.remaining, w.is_tree, w.paused, w.job_run_id, w.traceparent,
    w.created_at, w.ended_at, false as archived
  from workflow w
  union all
  select w.id, w.name, w.linked, w.task_count, w.remaining, w.is_tree, w.paused, w.job_run_id, w.traceparent,
    w.created_at, w.ended_at, true
  from archive_workflow w;
