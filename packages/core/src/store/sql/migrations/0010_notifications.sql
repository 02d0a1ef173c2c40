-- Notifications leave through the outbox as webhooks do. One that tells of a workflow's end has the workflow's id for its
-- task.
alter table delivery drop constraint delivery_trigger_check;
alter table delivery add constraint delivery_trigger_check
  check (trigger in ('start', 'success', 'failure', 'cancel', 'notify'));

-- Who is told of a workflow's end, and what was told. A workflow that asks for nothing has a row only once it was tried
-- again, or once a task of it told of an error.
create table workflow_notice (
  workflow_id uuid primary key,
  -- As submitted; null: nobody is told of the end.
  entries jsonb,
  -- How often the workflow was tried again.
  run integer not null default 0,
  -- The run whose end was told, and the run in which a task told of an error: at most one each.
  ended_run integer,
  error_run integer,
  check (ended_run <= run and error_run <= run)
) with (fillfactor = 80);

-- What tasks put under names for the other tasks of their workflow: a value, or a part of a list.
create table task_collection_data (
  workflow_id uuid not null,
  name text not null check (char_length(name) between 1 and 100),
  task_id uuid not null,
  -- The attempt that put it: an older one changes nothing any more.
  attempt integer not null,
  list boolean not null,
  data jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workflow_id, name, task_id),
  check (not list or jsonb_typeof(data) = 'array')
);
