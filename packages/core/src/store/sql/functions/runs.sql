-- What is kept of each run (a batch or a workflow) for lists: its outcome and its kinds.
-- Locks: workflows by id.
-- Callers: conclude, submit, trees, reevaluate; store/migrate.ts.

-- The state of a run whose tasks have ended, as runOutcome of vocabulary/run.ts. p_root: the state of its root container;
-- null for a batch.
create or replace function run_outcome(p_root smallint, p_succeeded integer, p_failed integer, p_canceled integer,
  p_skipped integer)
returns smallint language sql immutable as $$
  select case
    when p_root is not null then
      case when p_root in (:failed, :partially_failed) and p_failed = 0 and p_canceled > 0 then :canceled
        when p_root >= :terminal then p_root end
    when p_failed > 0 then case when p_succeeded > 0 then :partially_failed else :failed end
    when p_canceled > 0 then :canceled
    when p_skipped > 0 and p_succeeded = 0 then :disabled
    else :succeeded end::smallint
$$;

-- Sets the outcomes of those of these trees that ended before their roots did.
create or replace function set_outcomes(p_trees uuid[])
returns void language sql as $$
  update workflow w set outcome = run_outcome(c.state, w.succeeded, w.failed, w.canceled, w.skipped)
  from container c
  where w.id = any(p_trees) and w.remaining = 0 and w.outcome is null and c.id = w.id and c.state >= :terminal
$$;

-- Adds kinds to those of a run, up to 100 (RUN_KINDS_MAX of vocabulary/run.ts).
create or replace function add_kinds(p_kinds integer[], p_new integer[])
returns integer[] language sql immutable as $$
  select case when p_new <@ p_kinds then p_kinds
    else (p_kinds || array(select n.id from unnest(p_new) with ordinality n(id, ord) where n.id <> all(p_kinds) order by n.ord))[1:100] end
$$;

-- Counts the tasks of runs stored before tallies were kept, of about p_tasks tasks; returns the number of runs. An end of
-- a task that commits later finds the run counted, and counts itself.
create or replace function backfill_runs(p_tasks integer)
returns integer language plpgsql set enable_seqscan = off as $$
declare
  v_ids uuid[];
  v_archived uuid[];
begin
  select array_agg(c.id) into v_ids from (
    select w.id, sum(w.task_count) over (order by w.id) - w.task_count as before
    from (select o.id, o.task_count from workflow o where o.kinds is null order by o.id limit 1000) w) c
  where c.before < p_tasks;
  perform 1 from workflow where id = any(v_ids) order by id for no key update;
  perform backfill_runs_of('workflow', 'task', 'container', v_ids);
  select array_agg(c.id) into v_archived from (
    select w.id, sum(w.task_count) over (order by w.id) - w.task_count as before
    from (select o.id, o.task_count from archive_workflow o where o.kinds is null order by o.id limit 1000) w) c
  where c.before < p_tasks;
  perform backfill_runs_of('archive_workflow', 'archive_task', 'archive_container', v_archived);
  return coalesce(cardinality(v_ids), 0) + coalesce(cardinality(v_archived), 0);
end $$;

-- A run whose tasks do not add up keeps null for its tallies rather than wrong ones.
create or replace function backfill_runs_of(p_runs regclass, p_tasks regclass, p_containers regclass, p_ids uuid[])
returns void language plpgsql as $$
begin
  execute format($sql$
    update %1$s w set succeeded = n.succeeded, failed = n.failed, canceled = n.canceled, skipped = n.skipped,
      failing = coalesce(n.failed > 0, false), failed_task = n.failed_task, kinds = n.kinds,
      outcome = case when w.remaining = 0 then run_outcome(
        case when w.is_tree then (select c.state from %3$s c where c.id = w.id) end,
        coalesce(n.succeeded, 0), coalesce(n.failed, 0), coalesce(n.canceled, 0), coalesce(n.skipped, 0)) end
    from (
      select r.id, t.kinds, t.failed_task, case when t.sound then t.succeeded end as succeeded,
        case when t.sound then t.failed end as failed, case when t.sound then t.canceled end as canceled,
        case when t.sound then t.skipped end as skipped
      from unnest($1) i(id) join %1$s r on r.id = i.id
      cross join lateral (
        select count(*) = r.task_count and count(*) filter (where o.state < :terminal) = r.remaining as sound,
          count(*) filter (where o.state = :succeeded)::integer as succeeded,
          count(*) filter (where o.state in (:failed, :timed_out, :partially_failed))::integer as failed,
          count(*) filter (where o.state = :canceled)::integer as canceled,
          count(*) filter (where o.state = :disabled)::integer as skipped,
          (array_agg(o.id order by o.ended_at) filter (
            where o.state in (:failed, :timed_out, :partially_failed)))[1] as failed_task,
          coalesce((array_agg(distinct o.kind_id))[1:100], '{}') as kinds
        from %2$s o where o.workflow_id = r.id) t) n
    where w.id = n.id$sql$, p_runs, p_tasks, p_containers) using p_ids;
end $$;
