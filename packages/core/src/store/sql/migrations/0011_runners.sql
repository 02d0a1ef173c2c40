-- A task with requirements runs on a runner of its own: its ready row stands in lane -1 until it has one, and then in the
-- lane of that runner, the negated number of it.
alter table task add column needs_runner boolean not null default false;
alter table archive_task add column needs_runner boolean not null default false;
alter table task_spec add column requirements jsonb;
alter table archive_task_spec add column requirements jsonb;

create index blocked_runners on blocked (lane) where lane < 0;

-- What runners that are alike have in common. Usage: 0 on demand, 1 spot.
create table runner_type (
  id integer generated always as identity primary key,
  resource_class text not null,
  usage_class smallint not null check (usage_class in (0, 1)),
  instance_type text not null,
  cpu integer not null check (cpu > 0),
  memory_mib integer not null check (memory_mib > 0),
  unique (resource_class, usage_class, instance_type, cpu, memory_mib)
);

-- What requests that are alike have in common.
create table runner_shape (
  id integer generated always as identity primary key,
  key text not null unique,
  resource_class text not null,
  usage_class smallint not null check (usage_class in (0, 1)),
  requirements jsonb not null
);

-- Which types satisfy which shapes: decided once for each pair, when the later of the two is first seen.
create table runner_fit (
  shape_id integer not null,
  type_id integer not null,
  primary key (shape_id, type_id)
);

create index runner_fit_type on runner_fit (type_id, shape_id);

-- Launches are written down before they are made.
create table runner_batch (
  id uuid primary key,
  provider text not null,
  shape_id integer not null,
  cpu integer not null,
  memory_mib integer not null,
  planned_at timestamptz not null,
  -- Null: it is over.
  next_try_at timestamptz,
  tries integer not null default 0,
  reason text
);

create index runner_batch_due on runner_batch (provider, next_try_at) where next_try_at is not null;
create index runner_batch_over on runner_batch (planned_at) where next_try_at is null;

-- How many runners may be launched now; refilled as time goes by.
create table runner_budget (
  provider text primary key,
  tokens double precision not null,
  refilled_at timestamptz not null
);

-- State: 0 created, 1 idle, 2 claimed, 3 running, 4 terminated. What changes with every sign of life stands apart, so that
-- no sign of life is in the way of a claim.
create table runner (
  id uuid primary key,
  -- Lane -1 is that of tasks without a runner.
  number integer generated always as identity (start with 2) unique,
  provider text not null,
  provider_id text,
  batch_id uuid,
  -- Null before it is launched.
  type_id integer,
  -- What it was launched for, until it is launched and has a type.
  shape_id integer,
  state smallint not null check (state between 0 and 4),
  epoch integer not null default 0,
  request_id uuid,
  uses integer not null default 0,
  threshold timestamptz not null,
  -- Of a claimed one: until when its agent is to have begun.
  confirm_by timestamptz,
  created_at timestamptz not null,
  state_since timestamptz not null,
  -- When the backend was last told of it, of an idle one.
  offered_at timestamptz,
  -- First of two looks that found it silent, or missing at its provider.
  doubted_at timestamptz,
  address text,
  draining boolean not null default false,
  reason text,
  -- When its provider was seen not to run it any more.
  gone_at timestamptz,
  check ((state in (2, 3)) = (request_id is not null) or state = 4),
  check ((state = 2) = (confirm_by is not null))
) with (fillfactor = 70);

create index runner_idle on runner (type_id, state_since desc) where state = 1;
create index runner_due on runner (threshold) where state < 4;
create index runner_unconfirmed on runner (confirm_by) where state = 2;
create index runner_created on runner (shape_id) where state = 0;
create index runner_held on runner (request_id) where request_id is not null;
create index runner_batch_rows on runner (batch_id) where batch_id is not null;
create index runner_leaving on runner (provider, state_since) where state = 4 and gone_at is null;
create unique index runner_provider_id on runner (provider, provider_id) where provider_id is not null;
create index runner_ended on runner (state_since) where state = 4;

create table runner_pulse (
  runner_id uuid primary key,
  seen_at timestamptz not null
) with (fillfactor = 50);

-- State: 0 waiting, 1 granted, 2 ended. Source: 0 a task, 1 a holder outside.
create table runner_request (
  id uuid primary key,
  shape_id integer not null,
  tenant text not null,
  count integer not null check (count between 1 and 1000),
  -- Its turn among those that wait: lower ones first, tenants in turn.
  rank bigint not null,
  state smallint not null check (state between 0 and 2),
  source smallint not null check (source in (0, 1)),
  run text not null,
  task_id uuid,
  attempt integer,
  exhaustion smallint,
  reason text,
  created_at timestamptz not null,
  granted_at timestamptz,
  ended_at timestamptz,
  expires_at timestamptz
) with (fillfactor = 70);

create index runner_request_waiting on runner_request (shape_id, rank, id) where state = 0;
create index runner_request_turn on runner_request (rank, id) where state = 0;
create index runner_request_gangs on runner_request (created_at) where state = 0 and count > 1;
create index runner_request_task on runner_request (task_id) where task_id is not null and state < 2;
create index runner_request_granted on runner_request (granted_at) where state = 1;
create index runner_request_expiry on runner_request (expires_at) where state = 0 and expires_at is not null;
create index runner_request_ended on runner_request (ended_at) where state = 2;
create index runner_request_lost on runner_request (ended_at) where state = 2 and task_id is not null and reason is not null;

-- The turn of the last request of each tenant.
create table runner_tenant (
  tenant text primary key,
  rank bigint not null
);

create index runner_tenant_rank on runner_tenant (rank);

-- What a provider was seen to run that no row knows.
create table runner_orphan (
  provider text not null,
  provider_id text not null,
  first_seen_at timestamptz not null,
  primary key (provider, provider_id)
);

-- The pool minute by minute, for the page.
create table runner_sample (
  at timestamptz not null,
  resource_class text not null,
  usage_class smallint not null,
  created integer not null,
  idle integer not null,
  claimed integer not null,
  running integer not null,
  waiting integer not null,
  primary key (at, resource_class, usage_class)
);
