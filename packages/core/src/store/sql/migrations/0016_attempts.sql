-- The attempts of a task before its last one, which the task's own row tells. An attempt that ended as its task did has
-- the task's state as its outcome.
create table task_attempt (
  task_id uuid not null,
  attempt integer not null check (attempt > 0),
  claimed_by text,
  claimed_at timestamptz,
  started_at timestamptz,
  ended_at timestamptz not null,
  outcome smallint not null,
  reason text,
  -- Of its command.
  exit_code smallint,
  primary key (task_id, attempt)
);
create table archive_task_attempt (like task_attempt, primary key (task_id, attempt));

-- Who claimed the last attempt, when, and the exit code of its command.
alter table task add column claimed_by text, add column claimed_at timestamptz, add column exit_code smallint;
alter table archive_task add column claimed_by text, add column claimed_at timestamptz, add column exit_code smallint;
