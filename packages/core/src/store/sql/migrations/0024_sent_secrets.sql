-- Secrets that were sent to a worker or a webhook target, so that what it reports can be redacted.

-- Whether any was sent for the task: sets of reports whose tasks have none pay nothing.
alter table task add column secrets_sent boolean not null default false;
alter table archive_task add column secrets_sent boolean not null default false;

-- Numbers the values that a name has had.
alter table named_secret add column version bigint not null generated always as identity;

-- Former values, kept while a task that one was sent for is not in the archive.
create table retired_secret (
  version bigint primary key,
  name text not null,
  key_id text not null,
  sealed bytea not null,
  grants text[] not null,
  retired_at timestamptz not null
);

create table sent_secret (
  task_id uuid not null,
  name text not null,
  version bigint not null,
  primary key (task_id, version)
);
create index sent_secret_version on sent_secret (version);
