-- What lists of runs (batches and workflows) show of each and filter by, so that none of them has to read tasks. Rows
-- from before have neither kinds nor tallies until backfill_runs() has counted their tasks: null plus anything is null,
-- so what ends meanwhile leaves them so.
alter table workflow
  -- Tasks by how they ended. `failed`: those that timed out or failed partially, too. `skipped`: disabled.
  add column succeeded integer,
  add column failed integer,
  add column canceled integer,
  add column skipped integer,
  -- Whether any task failed, and the first that did; that is null after a retry of just that task.
  add column failing boolean not null default false,
  add column failed_task uuid,
  -- The state in which it ended; null while tasks are open.
  add column outcome smallint,
  -- Of its tasks, the first 100 in their order.
  add column kinds integer[],
  add constraint workflow_is_counted check (remaining + succeeded + failed + canceled + skipped = task_count),
  add constraint workflow_has_outcome check (outcome is null or ended_at is not null);
alter table archive_workflow
  add column succeeded integer,
  add column failed integer,
  add column canceled integer,
  add column skipped integer,
  add column failing boolean not null default false,
  add column failed_task uuid,
  add column outcome smallint,
  add column kinds integer[];

-- None of these columns changes more than a few times in the life of a run, so that updates of its counts stay
-- heap-only. Most runs end well: those are found without an index on their outcome.
create index workflow_open on workflow (id) where ended_at is null;
create index workflow_name on workflow (name, id) where name is not null;
create index workflow_failing on workflow (id) where failing;
create index workflow_outcome on workflow (outcome, id) where outcome > 10;
create index workflow_uncounted on workflow (id) where kinds is null;
create index archive_workflow_name on archive_workflow (name, id) where name is not null;
create index archive_workflow_failing on archive_workflow (id) where failing;
create index archive_workflow_outcome on archive_workflow (outcome, id) where outcome > 10;
create index archive_workflow_uncounted on archive_workflow (id) where kinds is null;
