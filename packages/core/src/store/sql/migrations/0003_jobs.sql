-- Workflows that start by a schedule, and what became of each occurrence.

create schema if not exists recon;

create table recon.jobs (
  id uuid primary key,
  name text not null unique,
  cron text not null,
  time_zone text not null,
  -- How many more times it starts; null: for ever.
  recurrence integer check (recurrence >= 0),
  overlap text not null check (overlap in ('skip', 'queue', 'allow')),
  catch_up text not null check (catch_up in ('skip', 'once', 'all')),
  paused boolean not null default false,
  paused_reason text,
  -- The workflow in its wire form.
  workflow jsonb not null,
  next_run_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (paused or paused_reason is null),
  -- What is due is what has a moment: nothing else needs to be looked at.
  check (next_run_at is null or not (paused or recurrence is not distinct from 0))
);

create index jobs_due on recon.jobs (next_run_at) where next_run_at is not null;

create table recon.job_history (
  -- The run; its workflow has the same id.
  id uuid primary key,
  job_id uuid not null references recon.jobs (id) on delete cascade,
  trigger text not null check (trigger in ('schedule', 'manual')),
  scheduled_for timestamptz not null,
  state text not null,
  reason text,
  workflow_id uuid,
  started_at timestamptz,
  completed_at timestamptz,
  -- Tasks by state, when the workflow ended.
  counts jsonb,
  constraint job_history_is_sound check (
    case state
      when 'Queued' then workflow_id is null and started_at is null and completed_at is null
      when 'Running' then workflow_id is not null and started_at is not null and completed_at is null
      when 'Skipped' then workflow_id is null and started_at is null and completed_at is not null
      else state in ('Succeeded', 'Failed', 'Timeout', 'PartiallyFailed', 'Disabled')
        and workflow_id is not null and started_at is not null and completed_at is not null
    end)
);

-- An occurrence has one entry, however many servers see it.
create unique index job_history_occurrence on recon.job_history (job_id, scheduled_for) where trigger = 'schedule';
create index job_history_job on recon.job_history (job_id, scheduled_for desc, id desc);
create index job_history_open on recon.job_history (job_id) where completed_at is null;
