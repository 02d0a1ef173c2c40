-- What Home shows: failures, activity, workers, and what nothing counted so far.

-- A task that ended failed or timed out by itself, until it is retried or deleted. Tasks that failed only because of
-- another one have none. `fingerprint`: the same for tasks of a kind that failed alike.
create table failure (
  task_id uuid primary key,
  workflow_id uuid not null,
  kind_id integer not null,
  fingerprint bigint not null,
  ended_at timestamptz not null
);
create index failure_ended on failure (ended_at, task_id) include (fingerprint, kind_id, workflow_id);
create index failure_alike on failure (fingerprint, ended_at, task_id);

-- What all processes did in a minute. `waits`: how many tasks waited how long before they started, by bucket
-- (domain/wait-histogram.ts).
create table activity_minute (
  minute timestamptz primary key,
  started bigint not null,
  succeeded bigint not null,
  failed bigint not null,
  canceled bigint not null,
  waits bigint[] not null
) with (fillfactor = 50);

-- A process that runs tasks, by the name in its claims. `left_at`: it stopped in order; what it sent before may be
-- handled later.
create table worker (
  holder text primary key,
  type text not null check (type in ('server', 'worker', 'queue_worker', 'runner')),
  version text,
  host text,
  kinds text[] not null,
  concurrency integer,
  -- As a reader of queues reports it: leases do not name it.
  running integer,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  left_at timestamptz
) with (fillfactor = 50);

-- A task that was paused. A hint, as `ready` is: the task may have continued since.
create table paused_task (
  task_id uuid primary key,
  paused_at timestamptz not null
);
insert into paused_task (task_id, paused_at) select id, paused_at from task where state + 0 = 5;

-- Lists of deliveries, newest first.
create index delivery_created on delivery (created_at, id);

-- 20: lost.
create index task_attempt_lost on task_attempt (ended_at) where outcome = 20;
