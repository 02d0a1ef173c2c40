-- The tables of Heddle. No index on `task` mentions a column that changes while a task lives: every update of a task
-- is then a heap-only one, which is what the rates in docs/performance.md stand on.

create table kind (
  id integer generated always as identity primary key,
  name text not null unique,
  -- Raised when a rule shape is registered: tasks whose slots were computed for an older version compute them anew.
  slot_version integer not null default 0,
  -- Its tasks go through the queue of its workers, for as many as those announced they run at once.
  dispatched boolean not null default false,
  worker_concurrency integer not null default 0
);

create table workflow (
  id uuid primary key,
  name text,
  -- Whether its tasks depend on each other: then every transition of its tasks locks the workflow first.
  linked boolean not null,
  task_count integer not null check (task_count >= 0),
  remaining integer not null check (remaining between 0 and task_count),
  -- A tree, whose root container has the workflow's id.
  is_tree boolean not null default false,
  paused boolean not null default false,
  job_run_id uuid,
  traceparent text,
  created_at timestamptz not null,
  ended_at timestamptz,
  check ((remaining = 0) = (ended_at is not null))
) with (fillfactor = 50);

create index workflow_ended on workflow (ended_at) where ended_at is not null;
create index workflow_trees on workflow (id) where is_tree;

create table task (
  id uuid primary key,
  workflow_id uuid not null,
  kind_id integer not null,
  state smallint not null,
  attempt integer not null default 0,
  priority smallint not null default 0,
  open_gates integer not null default 0,
  timeout_secs integer not null,
  -- 0: counted from the start; 1: counted from the last activity.
  deadline_basis smallint not null default 0,
  -- Whether a dependency may lead to or from it.
  linked boolean not null default false,
  has_spec boolean not null default false,
  -- Whether its end may have something to announce.
  has_actions boolean not null default false,
  starts_by_webhook boolean not null default false,
  paused_from smallint,
  -- The version of its kind that `wants` was computed for; -1: compute at the next claim.
  slot_version integer not null default 0,
  lease_id bigint,
  success_count bigint not null default 0,
  failure_count bigint not null default 0,
  expected_count bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  run_at timestamptz,
  started_at timestamptz,
  ended_at timestamptz,
  deadline_at timestamptz,
  paused_at timestamptz,
  -- The ancestor whose end failed it.
  cause uuid,
  -- Slots it takes while an attempt is open, as its kind's shapes say; those it holds now; those its own rules look at.
  wants bigint[],
  slots bigint[],
  rule_slots bigint[],
  rule_max bigint[],
  name text not null,
  local_id text,
  reason text,
  metadata jsonb not null,
  -- Where it stands in its workflow's tree, and what its end may be without stopping the sequence it stands in.
  container_id uuid,
  position integer,
  policy smallint not null default 0,
  -- Its container has not come to it yet: one of its open gates.
  sealed boolean not null default false,
  -- It may add nodes to containers beside it.
  generates boolean not null default false,
  -- The task that created it.
  generator_id uuid,
  -- One constraint, since each costs every update of one task about as much as the update itself.
  constraint task_is_sound check (
    case
      when state in (2, 3, 4) then
        lease_id is not null and attempt > 0 and ended_at is null and paused_at is null and paused_from is null
      when state >= 10 then state <= 15 and ended_at is not null and paused_at is null and paused_from is null
      when state = 0 then open_gates > 0
        and lease_id is null and slots is null and ended_at is null and paused_at is null and paused_from is null
      when state = 1 then open_gates = 0
        and lease_id is null and slots is null and ended_at is null and paused_at is null and paused_from is null
      when state = 5 then paused_at is not null and paused_from is not null and ended_at is null
      else false
    end and open_gates >= 0 and timeout_secs > 0 and priority between -1000 and 1000)
) with (fillfactor = 33, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

create index task_workflow on task (workflow_id);
create index task_container on task (container_id, position) where container_id is not null;

-- A node of a workflow's tree. Its state follows from its children, by the counts that their ends leave here: 0 its turn
-- has not come, 3 it has, then as of tasks.
create table container (
  id uuid primary key,
  workflow_id uuid not null,
  parent_id uuid,
  position integer not null,
  -- 0: sequential, 1: parallel.
  mode smallint not null check (mode in (0, 1)),
  policy smallint not null check (policy in (0, 1, 2)),
  state smallint not null default 0 check (state in (0, 3, 10, 11, 12, 13, 15)),
  local_id text,
  children integer not null default 0,
  open integer not null default 0,
  succeeded integer not null default 0,
  failed integer not null default 0,
  timed_out integer not null default 0,
  partially_failed integer not null default 0,
  disabled integer not null default 0,
  -- Of the bad ends, those that the children's policies let pass.
  tolerated integer not null default 0,
  -- Generators elsewhere that may still add children.
  fillers integer not null default 0 check (fillers >= 0),
  -- Of a sequence: the position that it has come to, and whether it met an end that it does not pass.
  cursor integer not null default -1,
  stopped boolean not null default false,
  generator_id uuid,
  -- The node whose end disabled it.
  cause uuid,
  reason text,
  created_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  check (children = open + succeeded + failed + timed_out + partially_failed + disabled),
  check (open >= 0),
  check ((state < 10) = (ended_at is null))
) with (fillfactor = 50);

create index container_workflow on container (workflow_id);
create index container_parent on container (parent_id, position) where parent_id is not null;

-- Which generators keep which containers from ending.
create table filler (
  task_id uuid not null,
  container_id uuid not null,
  -- The generator ended; kept for a retry.
  done boolean not null default false,
  primary key (task_id, container_id)
);

create index filler_container on filler (container_id);

-- What generators announced, and what of it exists.
create table generator (
  task_id uuid primary key,
  expected integer,
  created integer not null default 0,
  -- Its worker is done, and it waits for what it announced.
  open boolean not null default false
);

create index generator_open on generator (task_id) where open;

-- Trees that ended and wait for what is done once at their end.
create table finalization (
  workflow_id uuid primary key,
  created_at timestamptz not null
);

-- What only some tasks have.
create table task_spec (
  task_id uuid primary key,
  actions jsonb,
  rules jsonb,
  dedupe jsonb,
  retry jsonb
);

create table task_data (
  task_id uuid primary key,
  data jsonb not null,
  created_at timestamptz not null
);

create table edge (
  parent_id uuid not null,
  child_id uuid not null,
  requires_success boolean not null,
  -- The two tasks are of different workflows: the relay carries this one, once.
  crosses boolean not null default false,
  relayed boolean not null default false,
  primary key (parent_id, child_id),
  check (parent_id <> child_id)
);

create index edge_child on edge (child_id);

-- Parents that ended and have children in other workflows.
create table relay (
  parent_id uuid primary key,
  created_at timestamptz not null
);

-- What claims scan. A row is a hint: whether the task really is pending is decided on the task's own row. Lane 0 is
-- tasks that start by a webhook, any other lane is the id of a kind. `rank` is the negated priority. `slots` were taken
-- for this row: whoever deletes it hands them to the task or returns them.
create table ready (
  lane integer not null,
  rank smallint not null,
  task_id uuid not null,
  slots bigint[],
  primary key (lane, rank, task_id)
) with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Pending tasks whose moment has not come.
create table delayed (
  run_at timestamptz not null,
  task_id uuid not null,
  primary key (run_at, task_id)
);

-- What rules count: open attempts (type 1) or remaining work (type 2) of a kind's tasks by some metadata fields.
create table shape (
  id integer generated always as identity primary key,
  kind_id integer not null,
  type smallint not null check (type in (1, 2)),
  fields text[] not null,
  -- The one slot of a shape without fields: most rules need no look at metadata.
  whole_slot bigint,
  unique (kind_id, type, fields)
);

-- One count of a shape: the id is a hash of the shape and the fields' values, its lowest bit set for capacity.
create table slot (
  id bigint primary key,
  shape_id integer not null,
  key jsonb not null,
  used bigint not null default 0 check (used >= 0)
) with (fillfactor = 50);

-- Pending tasks that wait for a slot, outside of the lanes that claims scan.
create table blocked (
  slot_id bigint not null,
  rank smallint not null,
  task_id uuid not null,
  lane integer not null,
  max bigint not null,
  -- This slot is all it needs, so that a returned one can be handed over at once.
  sole boolean not null,
  primary key (slot_id, rank, task_id)
);

-- One row a claimed set: when to look at it next, and how many of its attempts are open.
create table lease (
  id bigint generated always as identity primary key,
  holder text not null,
  claimed_at timestamptz not null,
  check_at timestamptz not null,
  open integer not null,
  task_ids uuid[] not null,
  -- How long each of its attempts is kept without a sign of life, counted from its task's updated_at; null: until the
  -- task's deadline.
  lease_ms integer,
  -- The kind in whose workers' queue its attempts wait: nothing ends them until a worker starts them.
  queued_kind integer
) with (fillfactor = 50);

-- A list of ids does not compress; trying costs more than the row.
alter table lease alter column task_ids set storage external;

create index lease_check on lease (check_at);
create index lease_queued on lease (queued_kind) where queued_kind is not null;

-- Which claimers were seen on a lane, for explain.
create table claimer (
  lane integer not null,
  holder text not null,
  seen_at timestamptz not null,
  -- Handlers that it runs at once, of a worker that reads a queue; null: it takes what it runs itself.
  concurrency integer,
  primary key (lane, holder)
);

create table dedupe_shape (
  id integer generated always as identity primary key,
  kind_id integer not null,
  fields text[] not null,
  unique (kind_id, fields)
);

create table dedupe_entry (
  key bigint not null,
  task_id uuid not null,
  primary key (key, task_id)
);

create index dedupe_entry_task on dedupe_entry (task_id);

create table idempotency (
  route text not null,
  key text not null,
  body_hash text not null,
  response jsonb,
  created_at timestamptz not null,
  primary key (route, key)
);

create index idempotency_created on idempotency (created_at);

-- The outbox of webhooks.
create table delivery (
  id uuid primary key,
  task_id uuid not null,
  workflow_id uuid not null,
  attempt integer not null,
  trigger text not null check (trigger in ('start', 'success', 'failure', 'cancel')),
  ordinal smallint not null,
  origin text not null,
  action jsonb not null,
  idempotency_key text not null,
  -- held: waits for the start delivery of its task; due: to be tried at next_try_at.
  state text not null check (state in ('held', 'due', 'delivered', 'dead')),
  tries integer not null default 0,
  holder text,
  first_try_at timestamptz,
  next_try_at timestamptz,
  last_status integer,
  last_error text,
  traceparent text,
  created_at timestamptz not null,
  delivered_at timestamptz,
  unique (task_id, attempt, trigger, ordinal),
  check ((state = 'due') = (next_try_at is not null))
) with (fillfactor = 70);

create index delivery_due on delivery (origin, next_try_at, id) where state = 'due';
create index delivery_open on delivery (workflow_id) where state in ('held', 'due');
create index delivery_dead on delivery (created_at, id) where state = 'dead';
create index delivery_held on delivery (created_at) where state = 'held';

create table archive_workflow (like workflow including defaults, archived_at timestamptz not null, primary key (id));
create index archive_workflow_ended on archive_workflow (ended_at);
create index archive_workflow_trees on archive_workflow (id) where is_tree;
create table archive_task (like task including defaults, primary key (id));
create index archive_task_workflow on archive_task (workflow_id);
create index archive_task_container on archive_task (container_id, position) where container_id is not null;
create table archive_task_spec (like task_spec, primary key (task_id));
create table archive_task_data (like task_data, primary key (task_id));
create table archive_container (like container including defaults, primary key (id));
create index archive_container_workflow on archive_container (workflow_id);
create index archive_container_parent on archive_container (parent_id, position) where parent_id is not null;
create table archive_generator (like generator, primary key (task_id));
create table archive_filler (like filler, primary key (task_id, container_id));
create table archive_edge (like edge, primary key (parent_id, child_id));
create index archive_edge_child on archive_edge (child_id);

create table api_token (
  id uuid primary key,
  name text not null,
  token_hash bytea not null unique,
  scopes text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);

create table definition (
  type text not null check (type in ('rule', 'action')),
  name text not null,
  body jsonb not null,
  updated_at timestamptz not null,
  primary key (type, name)
);

create table secret (
  id uuid primary key,
  purpose text not null,
  key bytea not null,
  created_at timestamptz not null,
  retired_at timestamptz
);
