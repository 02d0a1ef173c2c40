-- Files of tasks. Their contents are outside the database, each stored once under its SHA-256.
create table artifact (
  id uuid primary key,
  task_id uuid not null,
  attempt integer not null check (attempt > 0),
  name text not null,
  digest bytea not null,
  size bigint not null check (size >= 0),
  pinned boolean not null default false,
  created_at timestamptz not null,
  unique (task_id, attempt, name)
);
create index artifact_digest on artifact (digest);

-- Contents that are or were in use. `stored_at`: when the latest artifact with it was stored.
create table artifact_blob (
  digest bytea primary key,
  stored_at timestamptz not null
);
create index artifact_blob_stored_at on artifact_blob (stored_at);
