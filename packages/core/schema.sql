-- The schema after all migrations, with the signatures of its functions: an overview for readers, and a record of
-- changes for reviews. Written by `node scripts/dump-schema.ts`; nothing executes it.

create table heddle.activity_minute (
  minute timestamp with time zone not null,
  started bigint not null,
  succeeded bigint not null,
  failed bigint not null,
  canceled bigint not null,
  waits bigint[] not null,
  constraint activity_minute_pkey PRIMARY KEY (minute)
) with (fillfactor=50);

create table heddle.api_token (
  id uuid not null,
  name text not null,
  token_hash bytea not null,
  scopes text[] not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  kinds text[],
  classes text[],
  constraint api_token_pkey PRIMARY KEY (id),
  constraint api_token_token_hash_key UNIQUE (token_hash)
);

create table heddle.archive_container (
  id uuid not null,
  workflow_id uuid not null,
  parent_id uuid,
  "position" integer not null,
  mode smallint not null,
  policy smallint not null,
  state smallint default 0 not null,
  local_id text,
  children integer default 0 not null,
  open integer default 0 not null,
  succeeded integer default 0 not null,
  failed integer default 0 not null,
  timed_out integer default 0 not null,
  partially_failed integer default 0 not null,
  disabled integer default 0 not null,
  tolerated integer default 0 not null,
  open_generators integer default 0 not null,
  cursor integer default '-1'::integer not null,
  stopped boolean default false not null,
  generator_id uuid,
  cause uuid,
  reason text,
  created_at timestamp with time zone not null,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  generator_attempt integer,
  constraint archive_container_pkey PRIMARY KEY (id)
);
CREATE INDEX archive_container_parent ON heddle.archive_container USING btree (parent_id, "position") WHERE (parent_id IS NOT NULL);
CREATE INDEX archive_container_workflow ON heddle.archive_container USING btree (workflow_id);

create table heddle.archive_container_generator (
  task_id uuid not null,
  container_id uuid not null,
  done boolean not null,
  constraint archive_container_generator_pkey PRIMARY KEY (task_id, container_id)
);

create table heddle.archive_edge (
  parent_id uuid not null,
  child_id uuid not null,
  requires_success boolean not null,
  crosses boolean not null,
  relayed boolean not null,
  constraint archive_edge_pkey PRIMARY KEY (parent_id, child_id)
);
CREATE INDEX archive_edge_child ON heddle.archive_edge USING btree (child_id);

create table heddle.archive_generator (
  task_id uuid not null,
  expected integer,
  created integer not null,
  open boolean not null,
  attempt integer default 0 not null,
  constraint archive_generator_pkey PRIMARY KEY (task_id)
);

create table heddle.archive_task (
  id uuid not null,
  workflow_id uuid not null,
  kind_id integer not null,
  state smallint not null,
  attempt integer default 0 not null,
  priority smallint default 0 not null,
  open_gates integer default 0 not null,
  timeout_secs integer not null,
  deadline_basis smallint default 0 not null,
  linked boolean default false not null,
  has_spec boolean default false not null,
  has_actions boolean default false not null,
  starts_by_webhook boolean default false not null,
  paused_from smallint,
  slot_version integer default 0 not null,
  lease_id bigint,
  success_count bigint default 0 not null,
  failure_count bigint default 0 not null,
  expected_count bigint,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  run_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  deadline_at timestamp with time zone,
  paused_at timestamp with time zone,
  cause uuid,
  wants bigint[],
  slots bigint[],
  rule_slots bigint[],
  rule_max bigint[],
  name text not null,
  local_id text,
  reason text,
  metadata jsonb not null,
  container_id uuid,
  "position" integer,
  policy smallint default 0 not null,
  sealed boolean default false not null,
  generates boolean default false not null,
  generator_id uuid,
  generator_attempt integer,
  computed boolean default false not null,
  needs_runner boolean default false not null,
  claimed_by text,
  claimed_at timestamp with time zone,
  exit_code smallint,
  log_pack bigint,
  secrets_sent boolean default false not null,
  rule_set_id integer,
  constraint archive_task_pkey PRIMARY KEY (id)
);
CREATE INDEX archive_task_container ON heddle.archive_task USING btree (container_id, "position") WHERE (container_id IS NOT NULL);
CREATE INDEX archive_task_workflow ON heddle.archive_task USING btree (workflow_id);

create table heddle.archive_task_attempt (
  task_id uuid not null,
  attempt integer not null,
  claimed_by text,
  claimed_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone not null,
  outcome smallint not null,
  reason text,
  exit_code smallint,
  constraint archive_task_attempt_pkey PRIMARY KEY (task_id, attempt)
);

create table heddle.archive_task_data (
  task_id uuid not null,
  data jsonb not null,
  created_at timestamp with time zone not null,
  constraint archive_task_data_pkey PRIMARY KEY (task_id)
);

create table heddle.archive_task_spec (
  task_id uuid not null,
  actions jsonb,
  rules jsonb,
  dedupe jsonb,
  retry jsonb,
  reads jsonb,
  requirements jsonb,
  constraint archive_task_spec_pkey PRIMARY KEY (task_id)
);

create table heddle.archive_workflow (
  id uuid not null,
  name text,
  linked boolean not null,
  task_count integer not null,
  remaining integer not null,
  is_tree boolean default false not null,
  paused boolean default false not null,
  job_run_id uuid,
  traceparent text,
  created_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  archived_at timestamp with time zone not null,
  succeeded integer,
  failed integer,
  canceled integer,
  skipped integer,
  failing boolean default false not null,
  failed_task uuid,
  outcome smallint,
  kinds integer[],
  constraint archive_workflow_pkey PRIMARY KEY (id)
);
CREATE INDEX archive_workflow_ended ON heddle.archive_workflow USING btree (ended_at);
CREATE INDEX archive_workflow_failing ON heddle.archive_workflow USING btree (id) WHERE failing;
CREATE INDEX archive_workflow_name ON heddle.archive_workflow USING btree (name, id) WHERE (name IS NOT NULL);
CREATE INDEX archive_workflow_outcome ON heddle.archive_workflow USING btree (outcome, id) WHERE (outcome > 10);
CREATE INDEX archive_workflow_trees ON heddle.archive_workflow USING btree (id) WHERE is_tree;
CREATE INDEX archive_workflow_uncounted ON heddle.archive_workflow USING btree (id) WHERE (kinds IS NULL);

create table heddle.artifact (
  id uuid not null,
  task_id uuid not null,
  attempt integer not null,
  name text not null,
  digest bytea not null,
  size bigint not null,
  pinned boolean default false not null,
  created_at timestamp with time zone not null,
  constraint artifact_attempt_check CHECK ((attempt > 0)),
  constraint artifact_pkey PRIMARY KEY (id),
  constraint artifact_size_check CHECK ((size >= 0)),
  constraint artifact_task_id_attempt_name_key UNIQUE (task_id, attempt, name)
);
CREATE INDEX artifact_digest ON heddle.artifact USING btree (digest);

create table heddle.artifact_blob (
  digest bytea not null,
  stored_at timestamp with time zone not null,
  constraint artifact_blob_pkey PRIMARY KEY (digest)
);
CREATE INDEX artifact_blob_stored_at ON heddle.artifact_blob USING btree (stored_at);

create table heddle.audit_entry (
  seq bigint not null,
  entry text not null,
  hash bytea not null,
  constraint audit_entry_pkey PRIMARY KEY (seq)
);
CREATE INDEX audit_entry_object ON heddle.audit_entry USING btree ((((entry)::json ->> 'object'::text)), seq);

create table heddle.blocked (
  slot_id bigint not null,
  rank smallint not null,
  task_id uuid not null,
  lane integer not null,
  max bigint not null,
  sole boolean not null,
  constraint blocked_pkey PRIMARY KEY (slot_id, rank, task_id)
);
CREATE INDEX blocked_runners ON heddle.blocked USING btree (lane) WHERE (lane < 0);

create table heddle.claimer (
  lane integer not null,
  holder text not null,
  seen_at timestamp with time zone not null,
  concurrency integer,
  constraint claimer_pkey PRIMARY KEY (lane, holder)
);

create table heddle.container (
  id uuid not null,
  workflow_id uuid not null,
  parent_id uuid,
  "position" integer not null,
  mode smallint not null,
  policy smallint not null,
  state smallint default 0 not null,
  local_id text,
  children integer default 0 not null,
  open integer default 0 not null,
  succeeded integer default 0 not null,
  failed integer default 0 not null,
  timed_out integer default 0 not null,
  partially_failed integer default 0 not null,
  disabled integer default 0 not null,
  tolerated integer default 0 not null,
  open_generators integer default 0 not null,
  cursor integer default '-1'::integer not null,
  stopped boolean default false not null,
  generator_id uuid,
  cause uuid,
  reason text,
  created_at timestamp with time zone not null,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  generator_attempt integer,
  constraint container_is_sound CHECK ((((state >= 10) = (ended_at IS NOT NULL)) AND ((((((open + succeeded) + failed) + timed_out) + partially_failed) + disabled) = children))) NOT VALID,
  constraint container_is_sound_in_tests CHECK (((open >= 0) AND (open_generators >= 0) AND (mode = ANY (ARRAY[0, 1])) AND (policy = ANY (ARRAY[0, 1, 2])) AND (state = ANY (ARRAY[0, 3, 10, 11, 12, 13, 15])))),
  constraint container_pkey PRIMARY KEY (id)
) with (fillfactor=50);
CREATE INDEX container_parent ON heddle.container USING btree (parent_id, "position") WHERE (parent_id IS NOT NULL);
CREATE INDEX container_workflow ON heddle.container USING btree (workflow_id, local_id);

create table heddle.container_generator (
  task_id uuid not null,
  container_id uuid not null,
  done boolean default false not null,
  constraint container_generator_pkey PRIMARY KEY (task_id, container_id)
);
CREATE INDEX container_generator_container ON heddle.container_generator USING btree (container_id);

create table heddle.dedupe_entry (
  key bigint not null,
  task_id uuid not null,
  constraint dedupe_entry_pkey PRIMARY KEY (key, task_id)
);
CREATE INDEX dedupe_entry_task ON heddle.dedupe_entry USING btree (task_id);

create table heddle.dedupe_shape (
  id integer generated always as identity not null,
  kind_id integer not null,
  fields text[] not null,
  constraint dedupe_shape_kind_id_fields_key UNIQUE (kind_id, fields),
  constraint dedupe_shape_pkey PRIMARY KEY (id)
);

create table heddle.definition (
  type text not null,
  name text not null,
  body jsonb not null,
  updated_at timestamp with time zone not null,
  constraint definition_pkey PRIMARY KEY (type, name),
  constraint definition_type_check CHECK ((type = ANY (ARRAY['rule'::text, 'action'::text])))
);

create table heddle.delayed (
  run_at timestamp with time zone not null,
  task_id uuid not null,
  constraint delayed_pkey PRIMARY KEY (run_at, task_id)
);

create table heddle.delivery (
  id uuid not null,
  task_id uuid not null,
  workflow_id uuid not null,
  attempt integer not null,
  trigger text not null,
  ordinal smallint not null,
  origin text not null,
  action jsonb not null,
  idempotency_key text not null,
  state text not null,
  tries integer default 0 not null,
  holder text,
  first_try_at timestamp with time zone,
  next_try_at timestamp with time zone,
  last_status integer,
  last_error text,
  traceparent text,
  created_at timestamp with time zone not null,
  delivered_at timestamp with time zone,
  constraint delivery_check CHECK (((state = 'due'::text) = (next_try_at IS NOT NULL))),
  constraint delivery_pkey PRIMARY KEY (id),
  constraint delivery_state_check CHECK ((state = ANY (ARRAY['held'::text, 'due'::text, 'delivered'::text, 'dead'::text]))),
  constraint delivery_task_id_attempt_trigger_ordinal_key UNIQUE (task_id, attempt, trigger, ordinal),
  constraint delivery_trigger_check CHECK ((trigger = ANY (ARRAY['start'::text, 'success'::text, 'failure'::text, 'cancel'::text, 'notify'::text])))
) with (fillfactor=70);
CREATE INDEX delivery_created ON heddle.delivery USING btree (created_at, id);
CREATE INDEX delivery_dead ON heddle.delivery USING btree (created_at, id) WHERE (state = 'dead'::text);
CREATE INDEX delivery_due ON heddle.delivery USING btree (origin, next_try_at, id) WHERE (state = 'due'::text);
CREATE INDEX delivery_held ON heddle.delivery USING btree (created_at) WHERE (state = 'held'::text);
CREATE INDEX delivery_open ON heddle.delivery USING btree (workflow_id) WHERE (state = ANY (ARRAY['held'::text, 'due'::text]));

create table heddle.edge (
  parent_id uuid not null,
  child_id uuid not null,
  requires_success boolean not null,
  crosses boolean default false not null,
  relayed boolean default false not null,
  constraint edge_check CHECK ((parent_id <> child_id)),
  constraint edge_pkey PRIMARY KEY (parent_id, child_id)
);
CREATE INDEX edge_child ON heddle.edge USING btree (child_id);

create table heddle.failure (
  task_id uuid not null,
  workflow_id uuid not null,
  kind_id integer not null,
  fingerprint bigint not null,
  ended_at timestamp with time zone not null,
  constraint failure_pkey PRIMARY KEY (task_id)
);
CREATE INDEX failure_alike ON heddle.failure USING btree (fingerprint, ended_at, task_id);
CREATE INDEX failure_ended ON heddle.failure USING btree (ended_at, task_id) INCLUDE (fingerprint, kind_id, workflow_id);

create table heddle.finalization (
  workflow_id uuid not null,
  created_at timestamp with time zone not null,
  constraint finalization_pkey PRIMARY KEY (workflow_id)
);

create table heddle.generator (
  task_id uuid not null,
  expected integer,
  created integer default 0 not null,
  open boolean default false not null,
  attempt integer default 0 not null,
  constraint generator_pkey PRIMARY KEY (task_id)
);
CREATE INDEX generator_open ON heddle.generator USING btree (task_id) WHERE open;

create table heddle.idempotency (
  route text not null,
  key text not null,
  body_hash text not null,
  response jsonb,
  created_at timestamp with time zone not null,
  constraint idempotency_pkey PRIMARY KEY (route, key)
);
CREATE INDEX idempotency_created ON heddle.idempotency USING btree (created_at);

create table heddle.inbox (
  message_id uuid not null,
  received_at timestamp with time zone not null,
  constraint inbox_pkey PRIMARY KEY (message_id)
) with (autovacuum_vacuum_insert_scale_factor=0.2);
CREATE INDEX inbox_received ON heddle.inbox USING btree (received_at);

create table heddle.kind (
  id integer generated always as identity not null,
  name text not null,
  slot_version integer default 0 not null,
  dispatched boolean default false not null,
  worker_concurrency integer default 0 not null,
  taken boolean default false not null,
  constraint kind_name_key UNIQUE (name),
  constraint kind_pkey PRIMARY KEY (id)
);

create table heddle.kind_description (
  kind_id integer not null,
  description text,
  input_schema jsonb,
  updated_at timestamp with time zone not null,
  constraint kind_description_description_check CHECK (((char_length(description) >= 1) AND (char_length(description) <= 1000))),
  constraint kind_description_input_schema_check CHECK ((octet_length((input_schema)::text) <= 131072)),
  constraint kind_description_pkey PRIMARY KEY (kind_id)
);

create table heddle.lease (
  id bigint generated always as identity not null,
  holder text not null,
  claimed_at timestamp with time zone not null,
  check_at timestamp with time zone not null,
  open integer not null,
  task_ids uuid[] not null,
  lease_ms integer,
  queued_kind integer,
  constraint lease_pkey PRIMARY KEY (id)
) with (fillfactor=50);
CREATE INDEX lease_check ON heddle.lease USING btree (check_at);
CREATE INDEX lease_queued ON heddle.lease USING btree (queued_kind) WHERE (queued_kind IS NOT NULL);

create table heddle.log_pack (
  id bigint not null,
  entries integer not null,
  data bytea not null,
  constraint log_pack_entries_check CHECK ((entries > 0)),
  constraint log_pack_pkey PRIMARY KEY (id)
);

create table heddle.named_secret (
  name text not null,
  key_id text not null,
  sealed bytea not null,
  grants text[] not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  version bigint generated always as identity not null,
  constraint named_secret_pkey PRIMARY KEY (name)
);

create table heddle.paused_task (
  task_id uuid not null,
  paused_at timestamp with time zone not null,
  constraint paused_task_pkey PRIMARY KEY (task_id)
);

create table heddle.queue_body (
  id uuid not null,
  body text not null,
  receipt uuid,
  touched_at timestamp with time zone not null,
  constraint queue_body_pkey PRIMARY KEY (id)
);
CREATE INDEX queue_body_touched ON heddle.queue_body USING btree (touched_at);

create table heddle.queue_dead (
  queue text not null,
  id uuid not null,
  reason text not null,
  receive_count integer not null,
  sent_at timestamp with time zone not null,
  dead_lettered_at timestamp with time zone not null,
  body text not null,
  constraint queue_dead_pkey PRIMARY KEY (queue, id),
  constraint queue_dead_reason_check CHECK ((length(reason) <= 2000))
);
CREATE INDEX queue_dead_lettered ON heddle.queue_dead USING btree (dead_lettered_at, id);

create table heddle.queue_message (
  queue text not null,
  id uuid not null,
  visible_at timestamp with time zone not null,
  sent_at timestamp with time zone not null,
  receipt bigint,
  receive_count integer default 0 not null,
  body text not null,
  constraint queue_message_pkey PRIMARY KEY (queue, id),
  constraint queue_message_receive_count_check CHECK ((receive_count >= 0))
) with (autovacuum_vacuum_scale_factor=0.0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0, vacuum_truncate=off);
CREATE INDEX queue_message_due ON heddle.queue_message USING btree (queue COLLATE "POSIX", visible_at);

create table heddle.queue_outgoing (
  "position" bigint generated always as identity not null,
  queue text not null,
  id uuid not null,
  message_group text,
  next_try_at timestamp with time zone not null,
  tries integer default 0 not null,
  body text not null,
  created_at timestamp with time zone not null,
  constraint queue_outgoing_pkey PRIMARY KEY ("position"),
  constraint queue_outgoing_queue_id_key UNIQUE (queue, id)
) with (autovacuum_vacuum_scale_factor=0.0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0, vacuum_truncate=off);
CREATE INDEX queue_outgoing_due ON heddle.queue_outgoing USING btree (next_try_at, "position");
CREATE INDEX queue_outgoing_group ON heddle.queue_outgoing USING btree (queue, message_group, "position") WHERE (message_group IS NOT NULL);

create table heddle.ready (
  lane integer not null,
  rank smallint not null,
  task_id uuid not null,
  slots bigint[],
  constraint ready_pkey PRIMARY KEY (lane, rank, task_id)
) with (autovacuum_vacuum_scale_factor=0.0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0);

create table heddle.relay (
  parent_id uuid not null,
  created_at timestamp with time zone not null,
  constraint relay_pkey PRIMARY KEY (parent_id)
);

create table heddle.retired_secret (
  version bigint not null,
  name text not null,
  key_id text not null,
  sealed bytea not null,
  grants text[] not null,
  retired_at timestamp with time zone not null,
  constraint retired_secret_pkey PRIMARY KEY (version)
);

create table heddle.rule_set (
  id integer generated always as identity not null,
  digest bytea not null,
  list jsonb not null,
  shapes integer[] not null,
  maxima bigint[] not null,
  constraint rule_set_check CHECK ((cardinality(shapes) = cardinality(maxima))),
  constraint rule_set_digest_key UNIQUE (digest),
  constraint rule_set_pkey PRIMARY KEY (id)
);

create table heddle.runner (
  id uuid not null,
  number integer generated always as identity not null,
  provider text not null,
  provider_id text,
  batch_id uuid,
  type_id integer,
  shape_id integer,
  state smallint not null,
  epoch integer default 0 not null,
  request_id uuid,
  uses integer default 0 not null,
  threshold timestamp with time zone not null,
  confirm_by timestamp with time zone,
  created_at timestamp with time zone not null,
  state_since timestamp with time zone not null,
  offered_at timestamp with time zone,
  suspected_at timestamp with time zone,
  address text,
  draining boolean default false not null,
  reason text,
  gone_at timestamp with time zone,
  counted boolean default false not null,
  constraint runner_check CHECK ((((state = ANY (ARRAY[2, 3])) = (request_id IS NOT NULL)) OR (state = 4))),
  constraint runner_check1 CHECK (((state = 2) = (confirm_by IS NOT NULL))),
  constraint runner_number_key UNIQUE (number),
  constraint runner_pkey PRIMARY KEY (id),
  constraint runner_state_check CHECK (((state >= 0) AND (state <= 4)))
) with (fillfactor=70);
CREATE INDEX runner_batch_rows ON heddle.runner USING btree (batch_id) WHERE (batch_id IS NOT NULL);
CREATE INDEX runner_created ON heddle.runner USING btree (shape_id) WHERE (state = 0);
CREATE INDEX runner_due ON heddle.runner USING btree (threshold) WHERE (state < 4);
CREATE INDEX runner_ended ON heddle.runner USING btree (state_since) WHERE (state = 4);
CREATE INDEX runner_held ON heddle.runner USING btree (request_id) WHERE (request_id IS NOT NULL);
CREATE INDEX runner_idle ON heddle.runner USING btree (type_id, state_since DESC) WHERE (state = 1);
CREATE INDEX runner_leaving ON heddle.runner USING btree (provider, state_since) WHERE ((state = 4) AND (gone_at IS NULL));
CREATE INDEX runner_unconfirmed ON heddle.runner USING btree (confirm_by) WHERE (state = 2);
CREATE INDEX runner_uncounted ON heddle.runner USING btree (state_since) WHERE ((state = 4) AND (NOT counted));
CREATE UNIQUE INDEX runner_provider_id ON heddle.runner USING btree (provider, provider_id) WHERE (provider_id IS NOT NULL);

create table heddle.runner_batch (
  id uuid not null,
  provider text not null,
  shape_id integer not null,
  cpu integer not null,
  memory_mib integer not null,
  planned_at timestamp with time zone not null,
  next_try_at timestamp with time zone,
  tries integer default 0 not null,
  reason text,
  constraint runner_batch_pkey PRIMARY KEY (id)
);
CREATE INDEX runner_batch_due ON heddle.runner_batch USING btree (provider, next_try_at) WHERE (next_try_at IS NOT NULL);
CREATE INDEX runner_batch_over ON heddle.runner_batch USING btree (planned_at) WHERE (next_try_at IS NULL);

create table heddle.runner_budget (
  provider text not null,
  tokens double precision not null,
  refilled_at timestamp with time zone not null,
  constraint runner_budget_pkey PRIMARY KEY (provider)
);

create table heddle.runner_class (
  name text not null,
  cpu integer not null,
  memory_mib integer not null,
  times jsonb not null,
  constraint runner_class_cpu_check CHECK ((cpu > 0)),
  constraint runner_class_memory_mib_check CHECK ((memory_mib > 0)),
  constraint runner_class_pkey PRIMARY KEY (name),
  constraint runner_class_times_check CHECK ((jsonb_typeof(times) = 'object'::text))
);

create table heddle.runner_fit (
  shape_id integer not null,
  type_id integer not null,
  constraint runner_fit_pkey PRIMARY KEY (shape_id, type_id)
);
CREATE INDEX runner_fit_type ON heddle.runner_fit USING btree (type_id, shape_id);

create table heddle.runner_heartbeat (
  runner_id uuid not null,
  seen_at timestamp with time zone not null,
  constraint runner_heartbeat_pkey PRIMARY KEY (runner_id)
) with (fillfactor=50);

create table heddle.runner_orphan (
  provider text not null,
  provider_id text not null,
  first_seen_at timestamp with time zone not null,
  constraint runner_orphan_pkey PRIMARY KEY (provider, provider_id)
);

create table heddle.runner_request (
  id uuid not null,
  shape_id integer not null,
  tenant text not null,
  count integer not null,
  rank bigint not null,
  state smallint not null,
  source smallint not null,
  run text not null,
  task_id uuid,
  attempt integer,
  exhaustion smallint,
  reason text,
  created_at timestamp with time zone not null,
  granted_at timestamp with time zone,
  ended_at timestamp with time zone,
  expires_at timestamp with time zone,
  kept integer default 0 not null,
  room_from bigint,
  room_until timestamp with time zone,
  constraint runner_request_check CHECK (((kept >= 0) AND (kept < count) AND ((kept = 0) OR ((state = 0) AND (source = 1))))),
  constraint runner_request_count_check CHECK (((count >= 1) AND (count <= 1000))),
  constraint runner_request_pkey PRIMARY KEY (id),
  constraint runner_request_source_check CHECK ((source = ANY (ARRAY[0, 1]))),
  constraint runner_request_state_check CHECK (((state >= 0) AND (state <= 2)))
) with (fillfactor=70);
CREATE INDEX runner_request_ended ON heddle.runner_request USING btree (ended_at) WHERE (state = 2);
CREATE INDEX runner_request_expiry ON heddle.runner_request USING btree (expires_at) WHERE ((state = 0) AND (expires_at IS NOT NULL));
CREATE INDEX runner_request_gangs ON heddle.runner_request USING btree (created_at) WHERE ((state = 0) AND (count > 1));
CREATE INDEX runner_request_granted ON heddle.runner_request USING btree (granted_at) WHERE (state = 1);
CREATE INDEX runner_request_lost ON heddle.runner_request USING btree (ended_at) WHERE ((state = 2) AND (task_id IS NOT NULL) AND (reason IS NOT NULL));
CREATE INDEX runner_request_room ON heddle.runner_request USING btree (rank, id) WHERE ((state = 0) AND (room_until IS NOT NULL));
CREATE INDEX runner_request_task ON heddle.runner_request USING btree (task_id) WHERE ((task_id IS NOT NULL) AND (state < 2));
CREATE INDEX runner_request_turn ON heddle.runner_request USING btree (rank, id) WHERE (state = 0);
CREATE INDEX runner_request_waiting ON heddle.runner_request USING btree (shape_id, rank, id) WHERE (state = 0);

create table heddle.runner_sample (
  at timestamp with time zone not null,
  resource_class text not null,
  usage_class smallint not null,
  created integer not null,
  idle integer not null,
  claimed integer not null,
  running integer not null,
  waiting integer not null,
  constraint runner_sample_pkey PRIMARY KEY (at, resource_class, usage_class)
);

create table heddle.runner_shape (
  id integer generated always as identity not null,
  key text not null,
  resource_class text not null,
  usage_class smallint not null,
  requirements jsonb not null,
  constraint runner_shape_key_key UNIQUE (key),
  constraint runner_shape_pkey PRIMARY KEY (id),
  constraint runner_shape_usage_class_check CHECK ((usage_class = ANY (ARRAY[0, 1])))
);

create table heddle.runner_tenant (
  tenant text not null,
  rank bigint not null,
  constraint runner_tenant_pkey PRIMARY KEY (tenant)
);
CREATE INDEX runner_tenant_rank ON heddle.runner_tenant USING btree (rank);

create table heddle.runner_type (
  id integer generated always as identity not null,
  resource_class text not null,
  usage_class smallint not null,
  instance_type text not null,
  cpu integer not null,
  memory_mib integer not null,
  constraint runner_type_cpu_check CHECK ((cpu > 0)),
  constraint runner_type_memory_mib_check CHECK ((memory_mib > 0)),
  constraint runner_type_pkey PRIMARY KEY (id),
  constraint runner_type_resource_class_usage_class_instance_type_cpu_me_key UNIQUE (resource_class, usage_class, instance_type, cpu, memory_mib),
  constraint runner_type_usage_class_check CHECK ((usage_class = ANY (ARRAY[0, 1])))
);

create table heddle.schema_functions (
  only_row boolean default true not null,
  checksum text not null,
  signatures text[] not null,
  constraint schema_functions_only_row_check CHECK (only_row),
  constraint schema_functions_pkey PRIMARY KEY (only_row)
);

create table heddle.schema_migration (
  version integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone default now() not null,
  constraint schema_migration_pkey PRIMARY KEY (version)
);

create table heddle.secret (
  id uuid not null,
  purpose text not null,
  key bytea not null,
  created_at timestamp with time zone not null,
  retired_at timestamp with time zone,
  constraint secret_pkey PRIMARY KEY (id)
);

create table heddle.sent_secret (
  task_id uuid not null,
  name text not null,
  version bigint not null,
  constraint sent_secret_pkey PRIMARY KEY (task_id, version)
);
CREATE INDEX sent_secret_version ON heddle.sent_secret USING btree (version);

create table heddle.session (
  id uuid not null,
  secret_hash bytea not null,
  token_id uuid,
  issuer text,
  subject text,
  name text,
  scopes text[],
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  address text,
  browser text,
  constraint session_check CHECK ((num_nulls(issuer, subject, name, scopes) =
CASE
    WHEN (token_id IS NULL) THEN 0
    ELSE 4
END)),
  constraint session_pkey PRIMARY KEY (id),
  constraint session_secret_hash_key UNIQUE (secret_hash),
  constraint session_token_id_fkey FOREIGN KEY (token_id) REFERENCES api_token(id) ON DELETE CASCADE
);
CREATE INDEX session_expires ON heddle.session USING btree (expires_at);
CREATE INDEX session_identity ON heddle.session USING btree (issuer, subject, last_used_at) WHERE (token_id IS NULL);
CREATE INDEX session_last_used ON heddle.session USING btree (last_used_at);
CREATE INDEX session_token ON heddle.session USING btree (token_id, last_used_at) WHERE (token_id IS NOT NULL);

create table heddle.shape (
  id integer generated always as identity not null,
  kind_id integer not null,
  type smallint not null,
  fields text[] not null,
  whole_slot bigint,
  constraint shape_kind_id_type_fields_key UNIQUE (kind_id, type, fields),
  constraint shape_pkey PRIMARY KEY (id),
  constraint shape_type_check CHECK ((type = ANY (ARRAY[1, 2])))
);

create table heddle.slot (
  id bigint not null,
  shape_id integer not null,
  key jsonb not null,
  used bigint default 0 not null,
  constraint slot_pkey PRIMARY KEY (id),
  constraint slot_used_check CHECK ((used >= 0))
) with (fillfactor=50);

create table heddle.task (
  id uuid not null,
  workflow_id uuid not null,
  kind_id integer not null,
  state smallint not null,
  attempt integer default 0 not null,
  priority smallint default 0 not null,
  open_gates integer default 0 not null,
  timeout_secs integer not null,
  deadline_basis smallint default 0 not null,
  linked boolean default false not null,
  has_spec boolean default false not null,
  has_actions boolean default false not null,
  starts_by_webhook boolean default false not null,
  paused_from smallint,
  slot_version integer default 0 not null,
  lease_id bigint,
  success_count bigint default 0 not null,
  failure_count bigint default 0 not null,
  expected_count bigint,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  run_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  deadline_at timestamp with time zone,
  paused_at timestamp with time zone,
  cause uuid,
  wants bigint[],
  slots bigint[],
  rule_slots bigint[],
  rule_max bigint[],
  name text not null,
  local_id text,
  reason text,
  metadata jsonb not null,
  container_id uuid,
  "position" integer,
  policy smallint default 0 not null,
  sealed boolean default false not null,
  generates boolean default false not null,
  generator_id uuid,
  generator_attempt integer,
  computed boolean default false not null,
  needs_runner boolean default false not null,
  claimed_by text,
  claimed_at timestamp with time zone,
  exit_code smallint,
  log_pack bigint,
  secrets_sent boolean default false not null,
  rule_set_id integer,
  constraint task_is_sound CHECK (
CASE
    WHEN (state < 5) THEN ((state < 2) = (lease_id IS NULL))
    ELSE ((state >= 10) = (ended_at IS NOT NULL))
END) NOT VALID,
  constraint task_is_sound_in_tests CHECK ((((state >= 10) = (ended_at IS NOT NULL)) AND ((state = 5) = (paused_at IS NOT NULL)) AND ((paused_at IS NULL) = (paused_from IS NULL)) AND
CASE
    WHEN (state < 2) THEN ((lease_id IS NULL) AND (slots IS NULL) AND ((state = 0) = (open_gates > 0)))
    WHEN (state < 5) THEN ((lease_id IS NOT NULL) AND (attempt > 0))
    ELSE ((state = 5) OR ((state >= 10) AND (state <= 15)))
END AND (state >= 0) AND (open_gates >= 0) AND (timeout_secs > 0) AND (abs(priority) <= 1000))),
  constraint task_pkey PRIMARY KEY (id)
) with (fillfactor=33, autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);
CREATE INDEX task_container ON heddle.task USING btree (container_id, "position") WHERE (container_id IS NOT NULL);
CREATE INDEX task_workflow ON heddle.task USING btree (workflow_id);

create table heddle.task_attempt (
  task_id uuid not null,
  attempt integer not null,
  claimed_by text,
  claimed_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone not null,
  outcome smallint not null,
  reason text,
  exit_code smallint,
  constraint task_attempt_attempt_check CHECK ((attempt > 0)),
  constraint task_attempt_pkey PRIMARY KEY (task_id, attempt)
);
CREATE INDEX task_attempt_lost ON heddle.task_attempt USING btree (ended_at) WHERE (outcome = 20);

create table heddle.task_collection_data (
  workflow_id uuid not null,
  name text not null,
  task_id uuid not null,
  attempt integer not null,
  list boolean not null,
  data jsonb not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint task_collection_data_check CHECK (((NOT list) OR (jsonb_typeof(data) = 'array'::text))),
  constraint task_collection_data_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100))),
  constraint task_collection_data_pkey PRIMARY KEY (workflow_id, name, task_id)
);

create table heddle.task_data (
  task_id uuid not null,
  data jsonb not null,
  created_at timestamp with time zone not null,
  constraint task_data_pkey PRIMARY KEY (task_id)
);

create table heddle.task_log (
  task_id uuid not null,
  attempt integer not null,
  first_line integer not null,
  lines integer not null,
  start_byte bigint not null,
  bytes integer not null,
  data bytea,
  pack bigint,
  constraint task_log_attempt_check CHECK ((attempt > 0)),
  constraint task_log_bytes_check CHECK ((bytes >= 0)),
  constraint task_log_first_line_check CHECK ((first_line >= 0)),
  constraint task_log_lines_check CHECK ((lines > 0)),
  constraint task_log_pkey PRIMARY KEY (task_id, attempt, first_line),
  constraint task_log_place CHECK ((num_nonnulls(data, pack) = 1)) NOT VALID,
  constraint task_log_start_byte_check CHECK ((start_byte >= 0))
);

create table heddle.task_spec (
  task_id uuid not null,
  actions jsonb,
  rules jsonb,
  dedupe jsonb,
  retry jsonb,
  reads jsonb,
  requirements jsonb,
  constraint task_spec_pkey PRIMARY KEY (task_id)
);

create table heddle.worker (
  holder text not null,
  type text not null,
  version text,
  host text,
  kinds text[] not null,
  concurrency integer,
  running integer,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  left_at timestamp with time zone,
  constraint worker_pkey PRIMARY KEY (holder),
  constraint worker_type_check CHECK ((type = ANY (ARRAY['server'::text, 'worker'::text, 'queue_worker'::text, 'runner'::text])))
) with (fillfactor=50);

create table heddle.workflow (
  id uuid not null,
  name text,
  linked boolean not null,
  task_count integer not null,
  remaining integer not null,
  is_tree boolean default false not null,
  paused boolean default false not null,
  job_run_id uuid,
  traceparent text,
  created_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  succeeded integer,
  failed integer,
  canceled integer,
  skipped integer,
  failing boolean default false not null,
  failed_task uuid,
  outcome smallint,
  kinds integer[],
  constraint workflow_is_sound CHECK ((((remaining = 0) = (ended_at IS NOT NULL)) AND (((((remaining + succeeded) + failed) + canceled) + skipped) = task_count))) NOT VALID,
  constraint workflow_is_sound_in_tests CHECK ((((remaining >= 0) AND (remaining <= task_count)) AND ((outcome IS NULL) OR (ended_at IS NOT NULL)))),
  constraint workflow_pkey PRIMARY KEY (id)
) with (fillfactor=50);
CREATE INDEX workflow_ended ON heddle.workflow USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX workflow_failing ON heddle.workflow USING btree (id) WHERE failing;
CREATE INDEX workflow_name ON heddle.workflow USING btree (name, id) WHERE (name IS NOT NULL);
CREATE INDEX workflow_open ON heddle.workflow USING btree (id) WHERE (ended_at IS NULL);
CREATE INDEX workflow_outcome ON heddle.workflow USING btree (outcome, id) WHERE (outcome > 10);
CREATE INDEX workflow_trees ON heddle.workflow USING btree (id) WHERE is_tree;
CREATE INDEX workflow_uncounted ON heddle.workflow USING btree (id) WHERE (kinds IS NULL);

create table heddle.workflow_notice (
  workflow_id uuid not null,
  entries jsonb,
  run integer default 0 not null,
  ended_run integer,
  error_run integer,
  constraint workflow_notice_check CHECK (((ended_run <= run) AND (error_run <= run))),
  constraint workflow_notice_pkey PRIMARY KEY (workflow_id)
) with (fillfactor=80);

create table recon.findings (
  id uuid not null,
  target_id integer not null,
  fingerprint bytea not null,
  rule_id text not null,
  description text not null,
  tags jsonb not null,
  path text not null,
  redacted text not null,
  place jsonb not null,
  occurrences integer not null,
  state text not null,
  first_run integer not null,
  last_run integer not null,
  gone_run integer,
  runs integer not null,
  first_seen timestamp with time zone not null,
  last_seen timestamp with time zone not null,
  gone_at timestamp with time zone,
  triage text default 'open'::text not null,
  triaged_by text,
  triaged_at timestamp with time zone,
  triage_comment text,
  context jsonb default '[]'::jsonb not null,
  secret_id bytea,
  verification jsonb,
  constraint findings_check CHECK ((last_run >= first_run)),
  constraint findings_context_check CHECK ((octet_length((context)::text) <= 16384)),
  constraint findings_fingerprint_check CHECK ((octet_length(fingerprint) = 16)),
  constraint findings_occurrences_check CHECK ((occurrences > 0)),
  constraint findings_pkey PRIMARY KEY (id),
  constraint findings_runs_check CHECK ((runs > 0)),
  constraint findings_secret_id_check CHECK ((octet_length(secret_id) = 16)),
  constraint findings_state_check CHECK ((state = ANY (ARRAY['new'::text, 'known'::text, 'gone'::text]))),
  constraint findings_target_id_fingerprint_key UNIQUE (target_id, fingerprint),
  constraint findings_target_id_fkey FOREIGN KEY (target_id) REFERENCES recon.scan_target(id) ON DELETE CASCADE,
  constraint findings_triage_check CHECK ((triage = ANY (ARRAY['open'::text, 'ignored'::text, 'false_positive'::text]))),
  constraint findings_verification_check CHECK ((((verification ->> 'verdict'::text) = ANY (ARRAY['active'::text, 'inactive'::text, 'unknown'::text])) AND (octet_length((verification)::text) <= 16384))),
  constraint gone_is_sound CHECK ((((state = 'gone'::text) = (gone_at IS NOT NULL)) AND ((gone_at IS NULL) = (gone_run IS NULL)) AND ((gone_run IS NULL) OR (gone_run > last_run))))
) with (fillfactor=85);
CREATE INDEX findings_gone ON recon.findings USING btree (gone_at) WHERE (gone_at IS NOT NULL);
CREATE INDEX findings_path ON recon.findings USING btree (target_id, "left"(path, 200) COLLATE "C");
CREATE INDEX findings_rule ON recon.findings USING btree (rule_id, id);
CREATE INDEX findings_secret ON recon.findings USING btree (secret_id, id) WHERE (secret_id IS NOT NULL);
CREATE INDEX findings_state ON recon.findings USING btree (state, id);
CREATE INDEX findings_target ON recon.findings USING btree (target_id, id);
CREATE INDEX findings_verdict ON recon.findings USING btree (((verification ->> 'verdict'::text)), id) WHERE (verification IS NOT NULL);

create table recon.job_history (
  id uuid not null,
  job_id uuid not null,
  trigger text not null,
  scheduled_for timestamp with time zone not null,
  state text not null,
  reason text,
  workflow_id uuid,
  started_at timestamp with time zone,
  completed_at timestamp with time zone,
  counts jsonb,
  constraint job_history_is_sound CHECK (
CASE state
    WHEN 'Queued'::text THEN ((workflow_id IS NULL) AND (started_at IS NULL) AND (completed_at IS NULL))
    WHEN 'Running'::text THEN ((workflow_id IS NOT NULL) AND (started_at IS NOT NULL) AND (completed_at IS NULL))
    WHEN 'Skipped'::text THEN ((workflow_id IS NULL) AND (started_at IS NULL) AND (completed_at IS NOT NULL))
    ELSE ((state = ANY (ARRAY['Succeeded'::text, 'Failed'::text, 'Timeout'::text, 'PartiallyFailed'::text, 'Disabled'::text])) AND (workflow_id IS NOT NULL) AND (started_at IS NOT NULL) AND (completed_at IS NOT NULL))
END),
  constraint job_history_job_id_fkey FOREIGN KEY (job_id) REFERENCES recon.jobs(id) ON DELETE CASCADE,
  constraint job_history_pkey PRIMARY KEY (id),
  constraint job_history_trigger_check CHECK ((trigger = ANY (ARRAY['schedule'::text, 'manual'::text, 'backfill'::text])))
);
CREATE INDEX job_history_job ON recon.job_history USING btree (job_id, scheduled_for DESC, id DESC);
CREATE INDEX job_history_open ON recon.job_history USING btree (job_id) WHERE (completed_at IS NULL);
CREATE UNIQUE INDEX job_history_occurrence ON recon.job_history USING btree (job_id, scheduled_for) WHERE (trigger = 'schedule'::text);

create table recon.jobs (
  id uuid not null,
  name text not null,
  cron text not null,
  time_zone text not null,
  recurrence integer,
  overlap text not null,
  catch_up text not null,
  paused boolean default false not null,
  paused_reason text,
  workflow jsonb not null,
  next_run_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint jobs_catch_up_check CHECK ((catch_up = ANY (ARRAY['skip'::text, 'once'::text, 'all'::text]))),
  constraint jobs_check CHECK ((paused OR (paused_reason IS NULL))),
  constraint jobs_check1 CHECK (((next_run_at IS NULL) OR (NOT (paused OR (NOT (recurrence IS DISTINCT FROM 0)))))),
  constraint jobs_name_key UNIQUE (name),
  constraint jobs_overlap_check CHECK ((overlap = ANY (ARRAY['skip'::text, 'queue'::text, 'allow'::text]))),
  constraint jobs_pkey PRIMARY KEY (id),
  constraint jobs_recurrence_check CHECK ((recurrence >= 0))
);
CREATE INDEX jobs_due ON recon.jobs USING btree (next_run_at) WHERE (next_run_at IS NOT NULL);

create table recon.model_cover (
  target_id integer not null,
  model text not null,
  number integer not null,
  started_at timestamp with time zone not null,
  constraint model_cover_number_check CHECK ((number > 0)),
  constraint model_cover_pkey PRIMARY KEY (target_id, model),
  constraint model_cover_target_id_fkey FOREIGN KEY (target_id) REFERENCES recon.model_target(id) ON DELETE CASCADE
);

create table recon.model_run (
  id uuid not null,
  target_id integer not null,
  number integer not null,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  complete boolean default false not null,
  new_models integer default 0 not null,
  changed_models integer default 0 not null,
  known_models integer default 0 not null,
  gone_models integer default 0 not null,
  by_model jsonb default '[]'::jsonb not null,
  constraint model_run_number_check CHECK ((number > 0)),
  constraint model_run_pkey PRIMARY KEY (id),
  constraint model_run_target_id_fkey FOREIGN KEY (target_id) REFERENCES recon.model_target(id) ON DELETE CASCADE,
  constraint model_run_target_id_number_key UNIQUE (target_id, number)
);
CREATE INDEX model_run_started ON recon.model_run USING btree (started_at);

create table recon.model_target (
  id integer generated always as identity not null,
  name text not null,
  runs integer default 0 not null,
  constraint model_target_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200))),
  constraint model_target_name_key UNIQUE (name),
  constraint model_target_pkey PRIMARY KEY (id),
  constraint model_target_runs_check CHECK ((runs >= 0))
);

create table recon.models (
  id uuid not null,
  target_id integer not null,
  model text not null,
  key text not null,
  data jsonb not null,
  state text not null,
  first_run integer not null,
  last_run integer not null,
  changed_run integer not null,
  gone_run integer,
  runs integer not null,
  first_seen timestamp with time zone not null,
  last_seen timestamp with time zone not null,
  changed_at timestamp with time zone not null,
  gone_at timestamp with time zone,
  previous jsonb,
  held jsonb,
  constraint gone_is_sound CHECK ((((state = 'gone'::text) = (gone_at IS NOT NULL)) AND ((gone_at IS NULL) = (gone_run IS NULL)) AND ((gone_run IS NULL) OR (gone_run > last_run)))),
  constraint models_check CHECK ((last_run >= first_run)),
  constraint models_check1 CHECK ((changed_run >= first_run)),
  constraint models_data_check CHECK ((jsonb_typeof(data) = 'object'::text)),
  constraint models_key_check CHECK (((char_length(key) >= 1) AND (char_length(key) <= 500))),
  constraint models_model_check CHECK (((char_length(model) >= 1) AND (char_length(model) <= 100))),
  constraint models_pkey PRIMARY KEY (id),
  constraint models_runs_check CHECK ((runs > 0)),
  constraint models_state_check CHECK ((state = ANY (ARRAY['new'::text, 'changed'::text, 'known'::text, 'gone'::text]))),
  constraint models_target_id_fkey FOREIGN KEY (target_id) REFERENCES recon.model_target(id) ON DELETE CASCADE,
  constraint models_target_id_model_key_key UNIQUE (target_id, model, key)
) with (fillfactor=85);
CREATE INDEX models_changed ON recon.models USING btree (target_id, changed_run, id);
CREATE INDEX models_changed_at ON recon.models USING btree (changed_at);
CREATE INDEX models_gone ON recon.models USING btree (gone_at) WHERE (gone_at IS NOT NULL);
CREATE INDEX models_model ON recon.models USING btree (model, id);
CREATE INDEX models_state ON recon.models USING btree (state, id);
CREATE INDEX models_target ON recon.models USING btree (target_id, id);

create table recon.scan_chunk (
  task_id uuid not null,
  attempt integer not null,
  ordinal integer not null,
  findings jsonb not null,
  created_at timestamp with time zone not null,
  constraint scan_chunk_pkey PRIMARY KEY (task_id, attempt, ordinal)
);
CREATE INDEX scan_chunk_created ON recon.scan_chunk USING btree (created_at);

create table recon.scan_run (
  id uuid not null,
  target_id integer not null,
  number integer not null,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  complete boolean default false not null,
  new_findings integer default 0 not null,
  known_findings integer default 0 not null,
  gone_findings integer default 0 not null,
  by_rule jsonb default '[]'::jsonb not null,
  constraint scan_run_number_check CHECK ((number > 0)),
  constraint scan_run_pkey PRIMARY KEY (id),
  constraint scan_run_target_id_fkey FOREIGN KEY (target_id) REFERENCES recon.scan_target(id) ON DELETE CASCADE,
  constraint scan_run_target_id_number_key UNIQUE (target_id, number)
);

create table recon.scan_target (
  id integer generated always as identity not null,
  name text not null,
  runs integer default 0 not null,
  covered_run integer default 0 not null,
  constraint scan_target_check CHECK (((covered_run >= 0) AND (covered_run <= runs))),
  constraint scan_target_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200))),
  constraint scan_target_name_key UNIQUE (name),
  constraint scan_target_pkey PRIMARY KEY (id)
);

create sequence heddle.dedupe_shape_id_seq;

create sequence heddle.kind_id_seq;

create sequence heddle.lease_id_seq;

create sequence heddle.log_pack_id;

create sequence heddle.named_secret_version_seq;

create sequence heddle.queue_outgoing_position_seq;

create sequence heddle.queue_receipt;

create sequence heddle.rule_set_id_seq;

create sequence heddle.runner_grant_count;

create sequence heddle.runner_number_seq;

create sequence heddle.runner_shape_id_seq;

create sequence heddle.runner_type_id_seq;

create sequence heddle.shape_id_seq;

create sequence recon.model_target_id_seq;

create sequence recon.scan_target_id_seq;

create type heddle.claim_terms as (
  lanes integer[],
  max_tasks integer,
  holder text,
  claim_timeout_ms integer,
  lease_ms integer
);

create type heddle.claimed as (
  tasks json,
  refused integer
);

create type heddle.ending as (
  ids uuid[],
  workflows uuid[],
  states smallint[],
  containers uuid[],
  leases bigint[],
  slots bigint[],
  amounts bigint[],
  linked boolean,
  has_actions boolean
);

create type heddle.locked as (
  ids uuid[],
  kinds integer[],
  ruled boolean,
  latest timestamp with time zone,
  wants bigint[],
  rule_slots bigint[],
  rule_max bigint[],
  slot_version integer
);

create type heddle.new_edges as (
  parents uuid[],
  children uuid[],
  requires_success boolean[],
  crosses boolean[],
  relayed boolean[]
);

create type heddle.new_nodes as (
  containers json,
  tasks json,
  specs json,
  parents json,
  counts json,
  generators json,
  container_generators json,
  touched uuid[],
  opened uuid[],
  kinds integer[]
);

create type heddle.new_requests as (
  ids uuid[],
  shapes integer[],
  tenants text[],
  counts integer[],
  sources smallint[],
  runs text[],
  attempts integer[],
  expires timestamp with time zone[]
);

create type heddle.new_workflows as (
  ids uuid[],
  names text[],
  linked boolean[],
  task_counts integer[],
  remaining integer[],
  failed_tasks uuid[],
  kinds text[],
  traceparents text[]
);

create type heddle.picked as (
  ids uuid[],
  tids tid[],
  lanes integer[],
  grants text[]
);

create type heddle.plain_tasks as (
  ids uuid[],
  workflow_ids uuid[],
  kind_ids integer[],
  open_gates integer[],
  linked boolean[],
  names text[],
  local_ids text[],
  metadata jsonb[],
  lanes integer[],
  priority smallint[],
  timeout_secs integer[],
  deadline_basis smallint[],
  expected_count bigint[],
  rule_sets integer[]
);

create type heddle.ready_rows as (
  lanes integer[],
  ranks smallint[],
  ids uuid[]
);

create type heddle.report_parts as (
  results jsonb,
  notices jsonb,
  log bytea,
  lines integer[]
);

create type heddle.reports as (
  ids uuid[],
  attempts integer[],
  states smallint[],
  reasons text[],
  extras jsonb,
  workflows uuid[],
  redacted uuid[],
  pack bigint,
  logged uuid[]
);

create type heddle.runner_bars as (
  ranks bigint[],
  ids uuid[]
);

create type heddle.runner_market as (
  shape_of integer[],
  counts integer[],
  ranks bigint[],
  holds_back boolean[],
  fits integer[],
  fit_from integer[],
  fit_to integer[],
  types integer[],
  ids uuid[],
  since timestamp with time zone[],
  supply integer[],
  starts integer[]
);

create type heddle.sequence_steps as (
  tasks uuid[],
  containers uuid[],
  stopped uuid[],
  positions integer[],
  causes uuid[],
  reasons text[],
  stops text[],
  stopped_parents uuid[],
  stopped_policies smallint[],
  over_parents uuid[],
  over_states smallint[],
  over_policies smallint[]
);

create type heddle.settled as (
  moved json,
  started uuid,
  may_claim boolean
);

create type heddle.settling as (
  ids uuid[],
  workflows uuid[],
  leases bigint[],
  targets smallint[],
  reasons text[],
  containers uuid[],
  linked boolean,
  has_spec boolean,
  has_actions boolean,
  holds boolean,
  held bigint[],
  final uuid[],
  codes smallint[],
  states smallint[],
  transitions json,
  lanes integer[],
  unredacted boolean,
  pack bigint,
  logged uuid[]
);

create type heddle.slot_demand as (
  slots bigint[],
  amounts bigint[],
  maxima bigint[],
  outside boolean[],
  stale boolean
);

create type heddle.submission as (
  workflows new_workflows,
  edges new_edges,
  plain plain_tasks,
  tasks json,
  specs json,
  kinds integer[],
  audit text[]
);

create view heddle.container_all as
 SELECT container.id,
    container.workflow_id,
    container.parent_id,
    container."position",
    container.mode,
    container.policy,
    container.state,
    container.local_id,
    container.children,
    container.open,
    container.succeeded,
    container.failed,
    container.timed_out,
    container.partially_failed,
    container.disabled,
    container.tolerated,
    container.open_generators,
    container.cursor,
    container.stopped,
    container.generator_id,
    container.cause,
    container.reason,
    container.created_at,
    container.started_at,
    container.ended_at,
    container.generator_attempt,
    false AS archived
   FROM container
UNION ALL
 SELECT archive_container.id,
    archive_container.workflow_id,
    archive_container.parent_id,
    archive_container."position",
    archive_container.mode,
    archive_container.policy,
    archive_container.state,
    archive_container.local_id,
    archive_container.children,
    archive_container.open,
    archive_container.succeeded,
    archive_container.failed,
    archive_container.timed_out,
    archive_container.partially_failed,
    archive_container.disabled,
    archive_container.tolerated,
    archive_container.open_generators,
    archive_container.cursor,
    archive_container.stopped,
    archive_container.generator_id,
    archive_container.cause,
    archive_container.reason,
    archive_container.created_at,
    archive_container.started_at,
    archive_container.ended_at,
    archive_container.generator_attempt,
    true AS archived
   FROM archive_container;

create view heddle.task_all as
 SELECT task.id,
    task.workflow_id,
    task.kind_id,
    task.state,
    task.attempt,
    task.priority,
    task.open_gates,
    task.timeout_secs,
    task.deadline_basis,
    task.linked,
    task.has_spec,
    task.has_actions,
    task.starts_by_webhook,
    task.paused_from,
    task.slot_version,
    task.lease_id,
    task.success_count,
    task.failure_count,
    task.expected_count,
    task.created_at,
    task.updated_at,
    task.run_at,
    task.started_at,
    task.ended_at,
    task.deadline_at,
    task.paused_at,
    task.cause,
    task.wants,
    task.slots,
    task.rule_slots,
    task.rule_max,
    task.name,
    task.local_id,
    task.reason,
    task.metadata,
    task.container_id,
    task."position",
    task.policy,
    task.sealed,
    task.generates,
    task.generator_id,
    task.generator_attempt,
    task.computed,
    task.needs_runner,
    task.claimed_by,
    task.claimed_at,
    task.exit_code,
    task.log_pack,
    task.secrets_sent,
    task.rule_set_id,
    false AS archived
   FROM task
UNION ALL
 SELECT archive_task.id,
    archive_task.workflow_id,
    archive_task.kind_id,
    archive_task.state,
    archive_task.attempt,
    archive_task.priority,
    archive_task.open_gates,
    archive_task.timeout_secs,
    archive_task.deadline_basis,
    archive_task.linked,
    archive_task.has_spec,
    archive_task.has_actions,
    archive_task.starts_by_webhook,
    archive_task.paused_from,
    archive_task.slot_version,
    archive_task.lease_id,
    archive_task.success_count,
    archive_task.failure_count,
    archive_task.expected_count,
    archive_task.created_at,
    archive_task.updated_at,
    archive_task.run_at,
    archive_task.started_at,
    archive_task.ended_at,
    archive_task.deadline_at,
    archive_task.paused_at,
    archive_task.cause,
    archive_task.wants,
    archive_task.slots,
    archive_task.rule_slots,
    archive_task.rule_max,
    archive_task.name,
    archive_task.local_id,
    archive_task.reason,
    archive_task.metadata,
    archive_task.container_id,
    archive_task."position",
    archive_task.policy,
    archive_task.sealed,
    archive_task.generates,
    archive_task.generator_id,
    archive_task.generator_attempt,
    archive_task.computed,
    archive_task.needs_runner,
    archive_task.claimed_by,
    archive_task.claimed_at,
    archive_task.exit_code,
    archive_task.log_pack,
    archive_task.secrets_sent,
    archive_task.rule_set_id,
    true AS archived
   FROM archive_task;

create view heddle.workflow_all as
 SELECT workflow.id,
    workflow.name,
    workflow.linked,
    workflow.task_count,
    workflow.remaining,
    workflow.is_tree,
    workflow.paused,
    workflow.job_run_id,
    workflow.traceparent,
    workflow.created_at,
    workflow.ended_at,
    workflow.succeeded,
    workflow.failed,
    workflow.canceled,
    workflow.skipped,
    workflow.failing,
    workflow.failed_task,
    workflow.outcome,
    workflow.kinds,
    false AS archived
   FROM workflow
UNION ALL
 SELECT archive_workflow.id,
    archive_workflow.name,
    archive_workflow.linked,
    archive_workflow.task_count,
    archive_workflow.remaining,
    archive_workflow.is_tree,
    archive_workflow.paused,
    archive_workflow.job_run_id,
    archive_workflow.traceparent,
    archive_workflow.created_at,
    archive_workflow.ended_at,
    archive_workflow.succeeded,
    archive_workflow.failed,
    archive_workflow.canceled,
    archive_workflow.skipped,
    archive_workflow.failing,
    archive_workflow.failed_task,
    archive_workflow.outcome,
    archive_workflow.kinds,
    true AS archived
   FROM archive_workflow;

-- heddle.accept_as_asked(p_reports reports, p_now timestamp with time zone)
--   returns settling, plpgsql, volatile

-- heddle.accept_reports(p_reports reports, p_expire boolean, p_now timestamp with time zone)
--   returns settling, plpgsql, volatile

-- heddle.add_dedupe_entries(p_tasks uuid[])
--   returns void, sql, volatile

-- heddle.add_kinds(p_kinds integer[], p_new integer[])
--   returns integer[], sql, immutable

-- heddle.add_progress(p_ids uuid[], p_attempts integer[], p_success bigint[], p_failure bigint[], p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.admit(p_ids uuid[], p_lanes integer[], p_grants text[], p_demand slot_demand)
--   returns uuid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.admit_picked(p_picked picked, p_locked locked, p_now timestamp with time zone, OUT ids uuid[], OUT refused integer)
--   returns record, plpgsql, volatile

-- heddle.adopt_nodes(p_nodes json)
--   returns void, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.advance_containers(p_touched uuid[], p_opened uuid[], p_now timestamp with time zone, OUT disabled uuid[], OUT workflows uuid[], OUT unblocked integer, OUT lanes integer[])
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.after_ms(p_now timestamp with time zone, p_times jsonb, p_name text)
--   returns timestamp with time zone, sql, stable

-- heddle.answer_of_one(p_kind integer, p_from smallint, p_ran_ms bigint, p_propagates boolean, p_opens boolean, p_lanes integer[], p_workflow uuid, p_ended uuid[])
--   returns json, sql, stable

-- heddle.append_audit(p_entries text[])
--   returns void, plpgsql, volatile

-- heddle.append_logs(p_tasks uuid[], p_attempts integer[], p_first_lines integer[], p_lines integer[], p_bytes integer[], p_sizes integer[], p_data bytea, p_bytes_max integer)
--   returns void, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.apply_extras(p_ids uuid[], p_extras jsonb, p_now timestamp with time zone)
--   returns integer[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.archive_containers(p_workflows uuid[], p_tasks uuid[])
--   returns void, plpgsql, volatile

-- heddle.archive_workflows(p_before timestamp with time zone, p_limit integer, p_now timestamp with time zone)
--   returns json, plpgsql, volatile

-- heddle.asked_lane()
--   returns integer, sql, immutable

-- heddle.attempts_of(p_task uuid, p_before integer, p_limit integer)
--   returns TABLE(attempt integer, claimed_by text, claimed_at timestamp with time zone, started_at timestamp with time zone, ended_at timestamp with time zone, outcome smallint, reason text, exit_code smallint, target text, target_status integer), sql, stable

-- heddle.attempts_without_runner(p_limit integer, p_now timestamp with time zone)
--   returns TABLE(task_id uuid, attempt integer, reason text, worn boolean), plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.backfill_runs(p_tasks integer)
--   returns integer, plpgsql, volatile, set enable_seqscan=off

-- heddle.backfill_runs_of(p_runs regclass, p_tasks regclass, p_containers regclass, p_ids uuid[])
--   returns void, plpgsql, volatile

-- heddle.bad_end_of(p_state smallint)
--   returns text, sql, immutable

-- heddle.before_generators(p_ids uuid[], OUT o_held uuid[], OUT o_generator uuid)
--   returns record, plpgsql, volatile

-- heddle.before_open_attempts(p_ids uuid[], p_after uuid[], OUT o_held uuid[], OUT o_open uuid)
--   returns record, plpgsql, volatile, set enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off

-- heddle.begin_delivered(p_results jsonb, p_now timestamp with time zone, OUT o_waits json, OUT o_workflows json)
--   returns record, plpgsql, volatile

-- heddle.begin_expansion(p_ids uuid[], p_to smallint[], p_extras jsonb, p_now timestamp with time zone)
--   returns uuid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.begin_retries(p_set settling, p_asked uuid[], p_retried uuid[], p_retry_at timestamp with time zone[], p_now timestamp with time zone)
--   returns settling, plpgsql, volatile

-- heddle.block_tasks(p_ids uuid[], p_lanes integer[], p_refused uuid[], p_slots bigint[])
--   returns void, plpgsql, volatile

-- heddle.cancel_tasks(p_ids uuid[], p_reason text, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.check_leases_sooner(p_tasks uuid[])
--   returns void, plpgsql, volatile

-- heddle.claim(p_lanes integer[], p_limit integer, p_holder text, p_start text, p_claim_timeout_ms integer, p_lease_ms integer, p_now timestamp with time zone)
--   returns claimed, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.claim_deliveries(p_holder text, p_limit integer, p_per_origin integer, p_saturated text[], p_lease_ms integer, p_now timestamp with time zone)
--   returns SETOF delivery, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.claim_outgoing(p_limit integer, p_bytes bigint, p_lease_ms bigint, p_now timestamp with time zone)
--   returns TABLE("position" bigint, queue text, id uuid, message_group text, body text, tries integer), plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off

-- heddle.claimed_task(p_task task, p_waited_ms bigint)
--   returns json, sql, stable

-- heddle.close_gates(p_children uuid[], p_closed integer[], p_causes uuid[], p_now timestamp with time zone, OUT failed uuid[], OUT opened integer, OUT lanes integer[])
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.close_generators()
--   returns void, sql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.close_leases(p_leases bigint[])
--   returns void, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.combined_value(p_values jsonb[])
--   returns jsonb, sql, immutable

-- heddle.common_columns(p_one regclass, p_other regclass)
--   returns text, sql, stable

-- heddle.complete_generators(p_limit integer, p_jitter double precision, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.conclude(p_ending ending, p_now timestamp with time zone, OUT cascaded uuid[], OUT unblocked integer, OUT lanes integer[], OUT deliveries integer, OUT ended uuid[], OUT propagations jsonb)
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.contended_slots(p_slots_max integer, p_shown integer, p_tasks_max integer, p_after bigint)
--   returns TABLE(slot_id bigint, tasks bigint, more boolean, max bigint, task_id uuid, name text, since timestamp with time zone), sql, stable, set enable_seqscan=off, enable_hashjoin=off, enable_mergejoin=off

-- heddle.copy_rows(p_from regclass, p_to regclass, p_key name, p_ids uuid[])
--   returns void, plpgsql, volatile

-- heddle.count_children(p_parents uuid[], p_states smallint[], p_policies smallint[])
--   returns void, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.count_created(p_generators json)
--   returns void, sql, volatile

-- heddle.count_ended(p_ids uuid[], p_workflows uuid[], p_states smallint[], p_now timestamp with time zone)
--   returns uuid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.count_skipped(p_workflows uuid[], p_now timestamp with time zone)
--   returns uuid[], plpgsql, volatile

-- heddle.count_succeeded(p_workflows uuid[], p_now timestamp with time zone)
--   returns uuid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.count_tasks_before(p_task uuid, p_kinds text[])
--   returns TABLE(state smallint, n bigint), plpgsql, stable, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.counted_kinds(p_kinds integer[])
--   returns TABLE(id integer, version integer, shapes bigint, shape integer, type smallint, fields text[], whole_slot bigint), sql, stable, set plan_cache_mode=force_generic_plan

-- heddle.data_bytes(p_workflow uuid, p_name text)
--   returns bigint, plpgsql, stable, set plan_cache_mode=force_generic_plan

-- heddle.dead_letter_messages(p_queue text, p_ids uuid[], p_receipts bigint[], p_reasons text[], p_now timestamp with time zone)
--   returns integer, plpgsql, volatile

-- heddle.dedupe_key_of(p_shape integer, p_fields text[], p_metadata jsonb)
--   returns bigint, sql, immutable

-- heddle.delay_again(p_ids uuid[], p_now timestamp with time zone)
--   returns void, plpgsql, volatile

-- heddle.delete_archived(p_before timestamp with time zone, p_limit integer)
--   returns integer, plpgsql, volatile

-- heddle.delete_logs(p_tasks uuid[])
--   returns void, plpgsql, volatile

-- heddle.delete_lost_artifacts(p_limit integer)
--   returns void, sql, volatile

-- heddle.delete_messages(p_queue text, p_ids uuid[], p_receipts bigint[])
--   returns integer, plpgsql, volatile

-- heddle.delivery_id(p_task uuid, p_attempt integer, p_trigger text, p_ordinal integer)
--   returns uuid, sql, immutable

-- heddle.demand_of(p_ids uuid[])
--   returns slot_demand, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.demand_of_alike(p_locked locked)
--   returns slot_demand, plpgsql, volatile

-- heddle.demand_of_tasks(p_limit integer, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.derived_state(p_stopped boolean, p_children integer, p_succeeded integer, p_timed_out integer, p_partially_failed integer, p_disabled integer, p_tolerated integer)
--   returns smallint, sql, immutable

-- heddle.digest_of(p_list jsonb)
--   returns bytea, sql, immutable

-- heddle.disable_branches(p_ids uuid[], p_to smallint[], p_extras jsonb, p_now timestamp with time zone, OUT lanes integer[], OUT unblocked integer, OUT ignored json)
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.dispatch(p_kind integer, p_limit integer, p_holder text, p_now timestamp with time zone)
--   returns claimed, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.dispatchable(p_limit integer, p_now timestamp with time zone)
--   returns TABLE(kind_id integer), sql, stable, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.end_containers(p_ids uuid[], p_now timestamp with time zone, OUT o_ended uuid[], OUT o_parents uuid[])
--   returns record, plpgsql, volatile

-- heddle.enter_lanes(p_rows ready_rows)
--   returns integer[], plpgsql, volatile

-- heddle.failure_fingerprint(p_kind integer, p_reason text)
--   returns bigint, sql, immutable

-- heddle.failure_pattern(p_reason text)
--   returns text, sql, immutable

-- heddle.falling_below(p_id uuid)
--   returns uuid[], plpgsql, volatile, set enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off

-- heddle.find_artifact(p_task uuid, p_node text, p_node_id uuid, p_name text)
--   returns SETOF artifact, sql, stable

-- heddle.find_duplicates(p_kinds integer[], p_probes jsonb)
--   returns TABLE(n integer, task_id uuid, probe_key bigint), plpgsql, volatile

-- heddle.find_nodes_before(p_reads jsonb)
--   returns TABLE(n integer, name text, id uuid, before boolean), plpgsql, stable, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.forget_audit(p_before_ms bigint, p_limit integer)
--   returns void, sql, volatile

-- heddle.forget_failures(p_ids uuid[])
--   returns void, sql, volatile

-- heddle.freed_by_progress(p_holders uuid[], p_ids uuid[], p_success bigint[], p_failure bigint[], OUT slots bigint[], OUT amounts bigint[])
--   returns record, sql, stable, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.gates_around(p_ids uuid[], OUT ids uuid[], OUT gates integer[], OUT reopens boolean[])
--   returns record, sql, volatile, set enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off

-- heddle.give_back(p_ids uuid[], p_outcome integer, p_reason text, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.grant_slots(p_slots bigint[])
--   returns integer[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.has_runner_tasks(p_now timestamp with time zone)
--   returns boolean, plpgsql, stable, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.heartbeat(p_ids uuid[], p_attempts integer[], p_success bigint[], p_failure bigint[], p_lease_ms integer, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.held_by(p_ids uuid[], p_held bigint[], OUT slots bigint[], OUT amounts bigint[])
--   returns record, plpgsql, stable

-- heddle.held_slots(p_ids uuid[], OUT slots bigint[], OUT amounts bigint[])
--   returns record, plpgsql, stable, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.hide_messages(p_queue text, p_ids uuid[], p_receipts bigint[], p_delay_ms bigint, p_release boolean, p_now timestamp with time zone)
--   returns integer, plpgsql, volatile

-- heddle.hold_back(p_ids uuid[])
--   returns uuid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.insert_trees(p_workflows jsonb, p_now timestamp with time zone)
--   returns uuid[], plpgsql, volatile

-- heddle.is_worn(p_task uuid, p_attempt integer)
--   returns boolean, sql, stable

-- heddle.keep_attempts(p_ids uuid[], p_outcomes smallint[], p_reasons text[], p_now timestamp with time zone)
--   returns void, sql, volatile

-- heddle.kinds_of(p_ids uuid[])
--   returns json, sql, stable

-- heddle.lane_claimers(p_lanes integer[], p_now timestamp with time zone)
--   returns TABLE(lane integer, holder text, heard_at timestamp with time zone), sql, stable

-- heddle.lane_of(p_starts_by_webhook boolean, p_needs_runner boolean, p_kind integer)
--   returns integer, sql, immutable

-- heddle.leave_containers(p_ids uuid[], p_containers uuid[], p_succeeded boolean, p_now timestamp with time zone, OUT disabled uuid[], OUT workflows uuid[], OUT unblocked integer, OUT lanes integer[])
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.leave_lanes(p_ids uuid[])
--   returns void, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.leave_queues(p_tasks uuid[], p_leases bigint[], p_lease_ms integer, p_now timestamp with time zone, OUT o_ids uuid[], OUT o_lease bigint)
--   returns record, plpgsql, volatile

-- heddle.lock_blobs(p_digests bytea[])
--   returns void, sql, volatile

-- heddle.lock_kinds(p_kinds integer[])
--   returns void, sql, volatile

-- heddle.lock_kinds_of(p_picked picked)
--   returns void, plpgsql, volatile

-- heddle.lock_messages(p_queue text, p_ids uuid[], p_receipts bigint[])
--   returns tid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.lock_picked(p_ids uuid[], p_compared boolean)
--   returns locked, plpgsql, volatile

-- heddle.lock_results(p_results jsonb)
--   returns void, plpgsql, volatile

-- heddle.lock_slots(p_slots bigint[], p_tasks uuid[])
--   returns void, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.lock_workflows(p_ids uuid[])
--   returns void, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.logs_of(p_task uuid, p_attempt integer, p_from integer, p_bytes_max integer)
--   returns TABLE(first_line integer, data bytea, packed bytea), sql, stable

-- heddle.make_ready(p_ids uuid[], p_now timestamp with time zone)
--   returns integer[], plpgsql, volatile

-- heddle.merge_models(p_run uuid, p_items jsonb)
--   returns void, plpgsql, volatile, set enable_seqscan=off

-- heddle.merge_patch(p_target jsonb, p_patch jsonb)
--   returns jsonb, plpgsql, immutable

-- heddle.model_contains(p_key text, p_data jsonb, p_text text)
--   returns boolean, plpgsql, immutable

-- heddle.note_cancel_actions(p_results jsonb)
--   returns uuid[], plpgsql, volatile

-- heddle.note_ended_trees(p_workflows uuid[], p_now timestamp with time zone)
--   returns void, plpgsql, volatile

-- heddle.note_sent_secrets(p_tasks uuid[], p_names text[], p_versions bigint[])
--   returns void, plpgsql, volatile

-- heddle.open_children(p_children uuid[], p_closed integer[], p_locked uuid[], p_states smallint[], p_gates integer[], p_now timestamp with time zone, OUT opened integer, OUT lanes integer[])
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.open_containers(p_ids uuid[], p_now timestamp with time zone, OUT o_inner uuid[], OUT o_opened integer, OUT o_lanes integer[])
--   returns record, plpgsql, volatile

-- heddle.pass_lease(p_lease bigint, p_child uuid, p_timeout_secs integer, p_terms claim_terms, p_now timestamp with time zone)
--   returns bigint, plpgsql, volatile

-- heddle.passes(p_policy smallint, p_state smallint)
--   returns boolean, sql, immutable

-- heddle.pause_tasks(p_ids uuid[], p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.pause_workflows(p_workflows uuid[], p_pause boolean, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.pick_ready(p_lanes integer[], p_limit integer)
--   returns picked, plpgsql, volatile

-- heddle.place_nodes(p_nodes jsonb)
--   returns TABLE(n integer, code integer, workflow_id uuid, container_id uuid, "position" integer, opens boolean, beside boolean, begun boolean, attempt integer, adopts boolean, detail text), plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.promote_delayed(p_limit integer, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.propagate(p_parents uuid[], p_succeeded boolean, p_now timestamp with time zone, OUT failed_ids uuid[], OUT unblocked integer, OUT lanes integer[], OUT crosses boolean, OUT propagations jsonb)
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.propagate_failure(p_parents uuid[], p_failed uuid, p_cause uuid, p_now timestamp with time zone, OUT failed_ids uuid[], OUT unblocked integer, OUT lanes integer[], OUT crosses boolean)
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.propagations_of(p_parents uuid[])
--   returns jsonb, sql, stable, set enable_seqscan=off

-- heddle.put_artifact(p_id uuid, p_task uuid, p_attempt integer, p_name text, p_digest bytea, p_size bigint, p_count_max integer, p_now timestamp with time zone)
--   returns text, plpgsql, volatile

-- heddle.put_back_attempts(p_ids uuid[], p_attempts integer[], p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.put_named_secret(p_name text, p_key_id text, p_sealed bytea, p_grants text[], p_now timestamp with time zone)
--   returns SETOF named_secret, plpgsql, volatile

-- heddle.queue_window(p_concurrency integer)
--   returns integer, sql, immutable

-- heddle.read_asked(p_asks jsonb, p_taken integer[])
--   returns TABLE(what text, ask integer, id uuid, value jsonb), plpgsql, stable

-- heddle.read_for_inputs(p_tasks uuid[], p_task_bytes bigint, p_bytes bigint)
--   returns TABLE(what text, ask integer, id uuid, value jsonb), plpgsql, stable, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.read_for_templates(p_asks jsonb, p_ask_bytes bigint, p_bytes bigint)
--   returns TABLE(what text, ask integer, id uuid, value jsonb), plpgsql, stable, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.read_results(p_scope text, p_id uuid, p_after uuid, p_limit integer)
--   returns TABLE(task_id uuid, local_id text, state smallint, data jsonb, kind text), plpgsql, stable, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.read_upstream(p_asks jsonb, p_ask_bytes bigint, p_bytes bigint)
--   returns TABLE(what text, ask integer, id uuid, value jsonb), plpgsql, stable, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.reads_queue(p_kind integer, p_now timestamp with time zone)
--   returns boolean, sql, stable

-- heddle.ready_lanes(p_lanes_max integer, p_tasks_max integer)
--   returns TABLE(lane integer, tasks bigint, more boolean, task_id uuid, name text, since timestamp with time zone), sql, stable, set enable_seqscan=off, enable_hashjoin=off, enable_mergejoin=off

-- heddle.reason_of(p_cause uuid)
--   returns text, sql, stable

-- heddle.receive_messages(p_queue text, p_max integer, p_visibility_ms bigint, p_max_receives integer, p_bytes bigint, p_from_ms bigint, p_now timestamp with time zone)
--   returns TABLE(id uuid, receipt bigint, receive_count integer, sent_at timestamp with time zone, body text, mark timestamp with time zone, seen_at timestamp with time zone), plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.record_failures(p_ids uuid[])
--   returns void, sql, volatile

-- heddle.record_tries(p_results jsonb, p_over uuid[], p_now timestamp with time zone)
--   returns void, plpgsql, volatile

-- heddle.recover_attempts(p_before timestamp with time zone, p_limit integer)
--   returns integer, plpgsql, volatile

-- heddle.recover_orphans(p_limit integer)
--   returns integer, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.redrive_messages(p_queue text, p_ids uuid[], p_limit integer, p_now timestamp with time zone)
--   returns integer, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.reevaluate_workflows(p_workflows uuid[], p_tasks uuid[], p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.refresh_slots(p_ids uuid[])
--   returns void, sql, volatile

-- heddle.refused(p_codes smallint[], p_ids uuid[], p_refused uuid[])
--   returns smallint[], sql, volatile

-- heddle.refused_by_slots(p_ids uuid[], p_slots bigint[], p_used bigint[], OUT o_ids uuid[], OUT o_slots bigint[])
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.register_dedupe_shape(p_kind integer, p_fields text[])
--   returns integer, plpgsql, volatile

-- heddle.register_shape(p_kind integer, p_type smallint, p_fields text[])
--   returns integer, plpgsql, volatile

-- heddle.regrant(p_limit integer)
--   returns integer[], plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.relay_one(p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.release_attempts(p_ids uuid[], p_attempts integer[], p_outcome integer, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.release_canceled(p_ids uuid[], p_codes smallint[])
--   returns integer[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.release_container_generators(p_tasks uuid[])
--   returns uuid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.release_held(p_tasks uuid[], p_now timestamp with time zone)
--   returns integer, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.release_tasks(p_ids uuid[])
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.reopen_containers(p_ids uuid[])
--   returns void, plpgsql, volatile

-- heddle.reopen_in_trees(p_tasks uuid[], p_containers uuid[], p_afresh boolean, p_now timestamp with time zone)
--   returns integer[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.reopen_tasks(p_ids uuid[], p_asked uuid[], p_lanes integer[], p_afresh boolean, p_now timestamp with time zone)
--   returns json, plpgsql, volatile

-- heddle.reopening_below(p_ids uuid[])
--   returns uuid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off

-- heddle.reopening_in_trees(p_ids uuid[], OUT o_tasks uuid[], OUT o_containers uuid[])
--   returns record, plpgsql, volatile

-- heddle.replace_inputs(p_inputs jsonb, p_now timestamp with time zone)
--   returns integer[], plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.reports_of(p_ids uuid[], p_attempts integer[], p_state integer, p_reasons text[])
--   returns reports, sql, immutable

-- heddle.result_bytes(p_task uuid)
--   returns bigint, plpgsql, stable, set plan_cache_mode=force_generic_plan

-- heddle.resume_tasks(p_ids uuid[], p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.retry_after(p_ids uuid[], p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.retry_delay(p_retry jsonb, p_attempt integer, p_id uuid, p_jitter double precision)
--   returns interval, sql, immutable

-- heddle.retry_in_trees(p_ids uuid[], p_now timestamp with time zone)
--   returns integer[], sql, volatile

-- heddle.retry_tasks(p_ids uuid[], p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.return_slots(p_slots bigint[], p_amounts bigint[])
--   returns integer[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.return_stale_grants(p_ids uuid[], p_grants text[], p_now timestamp with time zone)
--   returns void, sql, volatile

-- heddle.rule_sets_of(p_lists jsonb, p_max integer)
--   returns integer[], plpgsql, volatile

-- heddle.rule_slots_of(p_set integer, p_task uuid, p_metadata jsonb)
--   returns bigint[], sql, stable

-- heddle.rules_of(p_set integer, p_task uuid)
--   returns TABLE(shape integer, max bigint, ord bigint), sql, stable

-- heddle.run_outcome(p_root smallint, p_succeeded integer, p_failed integer, p_canceled integer, p_skipped integer)
--   returns smallint, sql, immutable

-- heddle.runner_adopt(p_provider text, p_ids text[], p_runners uuid[], p_batches uuid[], p_states integer[])
--   returns void, plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_arrive(p_ids uuid[], p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_ask(p_requests new_requests, p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_assign(p_market runner_market, p_requests uuid[], p_limit integer, p_now timestamp with time zone, p_times jsonb, OUT o_given integer[], OUT o_served boolean[])
--   returns record, plpgsql, volatile

-- heddle.runner_barriers(p_types integer[], p_others uuid[], p_now timestamp with time zone, p_times jsonb, OUT o_types integer[], OUT o_ranks bigint[], OUT o_ids uuid[])
--   returns record, sql, volatile

-- heddle.runner_bars_of(p_types integer[], p_requests uuid[], p_now timestamp with time zone, p_times jsonb)
--   returns runner_bars, plpgsql, volatile

-- heddle.runner_beat(p_id uuid, p_now timestamp with time zone, p_times jsonb)
--   returns jsonb, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_bring_back(p_requests uuid[])
--   returns void, sql, volatile

-- heddle.runner_bring_back_strays(p_limit integer)
--   returns integer, plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_census()
--   returns TABLE(resource_class text, usage_class smallint, created integer, idle integer, claimed integer, running integer, waiting integer), sql, stable

-- heddle.runner_choose(p_requests uuid[], p_limit integer, p_busy uuid[], p_now timestamp with time zone, p_fresh timestamp with time zone, p_times jsonb, OUT o_requests uuid[], OUT o_runners uuid[])
--   returns record, plpgsql, volatile

-- heddle.runner_claim(p_request uuid, p_ids uuid[], p_now timestamp with time zone, p_times jsonb)
--   returns jsonb, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_claim_idle(p_limit integer, p_ids uuid[], p_now timestamp with time zone, p_times jsonb)
--   returns TABLE(request_id uuid, runners jsonb, exhaustion smallint), plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_confirm(p_id uuid, p_epoch integer, p_now timestamp with time zone, p_times jsonb)
--   returns boolean, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_count_ended(p_limit integer)
--   returns jsonb, sql, volatile, set enable_seqscan=off

-- heddle.runner_drain(p_ids uuid[], p_reason text, p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_end(p_ids uuid[], p_reason text, p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_end_counted(p_ids uuid[], p_reason text, p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile

-- heddle.runner_end_vanished(p_provider text, p_there text[], p_limit integer, p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_fate(p_runner runner, p_seen timestamp with time zone, p_silent interval, p_recheck interval, p_now timestamp with time zone)
--   returns text, sql, immutable

-- heddle.runner_find_orphans(p_provider text, p_ids text[], p_runners uuid[], p_batches uuid[], p_states integer[], p_now timestamp with time zone, p_times jsonb)
--   returns text[], plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_find_silent(p_limit integer, p_silent interval, p_recheck interval, p_now timestamp with time zone, OUT o_suspected uuid[], OUT o_lost uuid[])
--   returns record, plpgsql, volatile, set enable_seqscan=on

-- heddle.runner_forget(p_before timestamp with time zone, p_limit integer)
--   returns integer, plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_forget_kinds(p_keep integer, p_limit integer)
--   returns integer, plpgsql, volatile

-- heddle.runner_grant(p_request uuid, p_runners uuid[], p_now timestamp with time zone, p_times jsonb)
--   returns void, sql, volatile

-- heddle.runner_grants(p_requests uuid[], p_runners uuid[], p_now timestamp with time zone, p_times jsonb)
--   returns void, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_grants_so_far()
--   returns bigint, sql, volatile

-- heddle.runner_hand_over(p_ids uuid[], p_now timestamp with time zone, p_times jsonb)
--   returns uuid[], plpgsql, volatile

-- heddle.runner_heads(p_ids uuid[], p_now timestamp with time zone)
--   returns TABLE(id uuid, rank bigint, lacking integer), sql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_heard(p_id uuid, p_now timestamp with time zone)
--   returns void, sql, volatile

-- heddle.runner_keep(p_requests uuid[], p_times jsonb)
--   returns void, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_launch_failed(p_batch uuid, p_reason text, p_retry_at timestamp with time zone, p_now timestamp with time zone, p_times jsonb)
--   returns void, plpgsql, volatile

-- heddle.runner_launched(p_batch uuid, p_runners jsonb, p_missing text, p_now timestamp with time zone, p_times jsonb)
--   returns void, plpgsql, volatile

-- heddle.runner_leave_lanes(p_numbers integer[])
--   returns void, sql, volatile

-- heddle.runner_lock(p_ids uuid[])
--   returns uuid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_lock_free(p_ids uuid[])
--   returns uuid[], plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_match(p_requests uuid[], p_limit integer, p_now timestamp with time zone, p_times jsonb, OUT o_requests uuid[], OUT o_runners uuid[], OUT o_open uuid[])
--   returns record, plpgsql, volatile

-- heddle.runner_match_many(p_requests uuid[], p_limit integer, p_now timestamp with time zone, p_fresh timestamp with time zone, p_times jsonb, OUT o_requests uuid[], OUT o_runners uuid[], OUT o_open uuid[])
--   returns record, plpgsql, volatile

-- heddle.runner_note_exhausted(p_ids uuid[], p_exhaustions smallint[])
--   returns void, sql, volatile

-- heddle.runner_note_launch(p_shape integer, p_reason text)
--   returns void, plpgsql, volatile

-- heddle.runner_orders(p_id uuid, p_now timestamp with time zone)
--   returns jsonb, sql, stable

-- heddle.runner_overtaken(p_now timestamp with time zone)
--   returns TABLE(id uuid, rank bigint), sql, stable

-- heddle.runner_path(p_types integer[], p_fits integer[], p_fit_from integer[], p_fit_to integer[], p_given integer[], p_left integer[], p_barred boolean[])
--   returns integer[], plpgsql, volatile

-- heddle.runner_peers(p_request uuid)
--   returns jsonb, sql, stable

-- heddle.runner_pick(p_types integer[], p_count integer, p_slack integer, p_now timestamp with time zone, p_fresh timestamp with time zone, OUT o_ids uuid[], OUT o_seen integer)
--   returns record, plpgsql, volatile

-- heddle.runner_pick_served(p_market runner_market, p_requests uuid[], p_given integer[], p_served boolean[], OUT o_requests uuid[], OUT o_runners uuid[])
--   returns record, plpgsql, volatile

-- heddle.runner_plan(p_batches jsonb, p_max integer, p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile

-- heddle.runner_plan_evictions(p_request uuid, p_missing integer, p_coming integer, p_max integer, p_overtakes integer, p_lease_ms bigint, p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_reconcile(p_provider text, p_ids text[], p_runners uuid[], p_batches uuid[], p_states integer[], p_limit integer, p_now timestamp with time zone, p_times jsonb)
--   returns json, plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_register(p_id uuid, p_batch uuid, p_provider_id text, p_address text, p_now timestamp with time zone, p_times jsonb)
--   returns jsonb, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_release(p_id uuid, p_epoch integer, p_now timestamp with time zone, p_times jsonb, OUT o_released boolean, OUT o_idle uuid[])
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_release_over(p_limit integer, p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_requests_over(p_ids uuid[])
--   returns SETOF uuid, sql, stable, set enable_seqscan=off

-- heddle.runner_retire_idle(p_limit integer, p_keep jsonb, p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_servable(p_limit integer, p_now timestamp with time zone)
--   returns TABLE(id uuid, lacking integer), sql, volatile

-- heddle.runner_set_aside(p_requests uuid[])
--   returns void, sql, volatile

-- heddle.runner_set_policy(p_classes jsonb, p_replace boolean)
--   returns boolean, plpgsql, volatile

-- heddle.runner_speaking(p_ids uuid[])
--   returns uuid[], plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_supply(p_requests uuid[], p_busy uuid[], p_now timestamp with time zone, p_fresh timestamp with time zone, p_times jsonb)
--   returns runner_market, plpgsql, volatile

-- heddle.runner_suspect(p_ids uuid[], p_now timestamp with time zone)
--   returns void, plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_sweep(p_limit integer, p_keep jsonb, p_now timestamp with time zone, p_times jsonb)
--   returns json, plpgsql, volatile, set enable_seqscan=off

-- heddle.runner_take_batches(p_provider text, p_limit integer, p_lease_ms bigint, p_per_second double precision, p_burst double precision, p_now timestamp with time zone)
--   returns TABLE(id uuid, requirements jsonb, cpu integer, memory_mib integer, runner_ids uuid[], planned_at timestamp with time zone, tries integer), plpgsql, volatile

-- heddle.runner_take_sample(p_now timestamp with time zone)
--   returns void, plpgsql, volatile

-- heddle.runner_tell(p_ids uuid[], p_times jsonb)
--   returns void, plpgsql, volatile

-- heddle.runner_tell_pool(p_times jsonb)
--   returns void, plpgsql, volatile

-- heddle.runner_tell_waiters(p_times jsonb)
--   returns void, plpgsql, volatile

-- heddle.runner_terminate(p_ids uuid[], p_reason text, p_now timestamp with time zone, p_times jsonb)
--   returns integer, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.runner_times(p_times jsonb)
--   returns jsonb, sql, stable

-- heddle.runner_type_after(p_now timestamp with time zone, p_type integer, p_times jsonb, p_name text)
--   returns timestamp with time zone, sql, stable

-- heddle.runner_type_time(p_type integer, p_times jsonb, p_name text)
--   returns double precision, sql, stable

-- heddle.runner_waiting_heads(p_limit integer)
--   returns uuid[], sql, stable

-- heddle.runner_withdraw(p_ids uuid[], p_reason text, p_now timestamp with time zone, p_times jsonb)
--   returns uuid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.set_outcomes(p_trees uuid[])
--   returns void, sql, volatile

-- heddle.settle(p_reports reports, p_expire boolean, p_jitter double precision, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.settle_accepted(p_set settling, p_asked uuid[], p_jitter double precision, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.settle_and_claim(p_reports reports, p_jitter double precision, p_now timestamp with time zone, p_parts report_parts, p_terms claim_terms, OUT moved json, OUT tasks json, OUT refused integer)
--   returns record, plpgsql, volatile

-- heddle.settle_deliveries(p_results jsonb, p_jitter double precision, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.settle_one(p_reports reports, p_now timestamp with time zone, p_terms claim_terms)
--   returns settled, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.settle_reports(p_reports reports, p_jitter double precision, p_now timestamp with time zone, p_parts report_parts, p_terms claim_terms)
--   returns settled, plpgsql, volatile

-- heddle.slot_amount(p_slot bigint, p_expected bigint, p_success bigint, p_failure bigint)
--   returns bigint, sql, immutable

-- heddle.slot_key_of(p_fields text[], p_metadata jsonb)
--   returns jsonb, sql, immutable

-- heddle.slot_of(p_shape integer, p_type smallint, p_fields text[], p_metadata jsonb)
--   returns bigint, sql, immutable

-- heddle.slots_of_shapes(p_shapes integer[], p_metadata jsonb)
--   returns bigint[], sql, stable

-- heddle.start_message_id(p_task uuid, p_attempt integer)
--   returns uuid, sql, immutable

-- heddle.start_one(p_workflows new_workflows, p_plain plain_tasks, p_terms claim_terms, p_now timestamp with time zone)
--   returns json, plpgsql, volatile

-- heddle.states_of(p_ids uuid[])
--   returns smallint[], plpgsql, volatile

-- heddle.stays_untaken(p_state smallint, p_cause uuid, p_reopened uuid[])
--   returns boolean, sql, stable

-- heddle.step_sequences(p_ids uuid[], p_now timestamp with time zone)
--   returns sequence_steps, plpgsql, volatile

-- heddle.stop_sequences(p_ids uuid[], p_positions integer[], p_causes uuid[], p_reasons text[], p_stops text[], p_now timestamp with time zone, OUT tasks uuid[], OUT workflows uuid[])
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.store_log_pack(p_pack bigint, p_data bytea, p_tasks uuid[], p_attempts integer[], p_lines integer[])
--   returns void, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.store_nodes(p_nodes new_nodes, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.store_plain_tasks(p_tasks plain_tasks, p_kinds integer[], p_now timestamp with time zone, p_lease bigint, p_holder text)
--   returns integer[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.store_reported_logs(p_reports reports, p_as_asked boolean, p_log bytea, p_lines integer[])
--   returns void, plpgsql, volatile

-- heddle.store_results(p_ids uuid[], p_codes json, p_results jsonb, p_now timestamp with time zone)
--   returns void, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.store_tasks(p_tasks json, p_specs json, p_kinds integer[], p_now timestamp with time zone, p_lease bigint, p_holder text)
--   returns integer[], plpgsql, volatile

-- heddle.submit_and_claim(p_rows submission, p_now timestamp with time zone, p_terms claim_terms, OUT lanes integer[], OUT now timestamp with time zone, OUT tasks json, OUT refused integer)
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.submit_few(p_rows submission, p_now timestamp with time zone)
--   returns integer[], plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.submit_tasks(p_rows submission, p_now timestamp with time zone, p_lease bigint, p_holder text)
--   returns integer[], plpgsql, volatile

-- heddle.sweep_leases(p_limit integer, p_claim_timeout_ms integer, p_jitter double precision, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.sweep_queued(p_tasks uuid[], p_leases bigint[], p_jitter double precision, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off

-- heddle.take_back_lost(p_tasks uuid[], p_leases bigint[], p_jitter double precision, p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set enable_seqscan=off, enable_bitmapscan=off

-- heddle.take_ends(p_workflows uuid[])
--   returns TABLE(workflow_id uuid, run integer, entries jsonb, name text, state smallint, reason text, created_at timestamp with time zone, ended_at timestamp with time zone, job_run_id uuid, counts jsonb), plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.take_slots(p_demand slot_demand)
--   returns void, plpgsql, volatile

-- heddle.take_unused_blobs(p_digests bytea[], p_before timestamp with time zone)
--   returns SETOF bytea, plpgsql, volatile

-- heddle.tasks_after(p_ids uuid[])
--   returns uuid[], plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off

-- heddle.tasks_with_confirmed_cancel(p_results jsonb)
--   returns uuid[], plpgsql, volatile

-- heddle.tasks_with_untried_start(p_ids uuid[])
--   returns uuid[], plpgsql, volatile

-- heddle.traced_attempts(p_ids uuid[], p_now timestamp with time zone)
--   returns TABLE(id uuid, workflow_id uuid, kind text, name text, attempt integer, traceparent text, generator_id uuid, generator_attempt integer, ready_ms double precision, started_ms double precision, now_ms double precision), sql, stable, set enable_seqscan=off

-- heddle.traced_ends(p_traced json, p_ids uuid[], p_settled json)
--   returns json, sql, immutable

-- heddle.traceparents_of(p_workflows uuid[])
--   returns jsonb, plpgsql, volatile, set enable_seqscan=off

-- heddle.unarchive_containers(p_workflow uuid, p_tasks uuid[])
--   returns void, plpgsql, volatile

-- heddle.unarchive_workflow(p_workflow uuid)
--   returns boolean, plpgsql, volatile

-- heddle.unseal(p_ids uuid[], p_now timestamp with time zone, OUT opened integer, OUT lanes integer[])
--   returns record, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.update_tasks(p_ids uuid[], p_attempts integer[], p_extras jsonb, p_redacted uuid[], p_now timestamp with time zone)
--   returns json, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_bitmapscan=off

-- heddle.wanted_slots(p_kind integer, p_metadata jsonb)
--   returns bigint[], sql, stable

-- heddle.without_expanding(p_set settling, p_expanding uuid[], p_count integer, p_now timestamp with time zone)
--   returns settling, plpgsql, volatile

-- heddle.without_grants(p_ids uuid[], p_grants text[])
--   returns uuid[], plpgsql, volatile

-- heddle.without_others(p_picked picked, p_locked uuid[])
--   returns picked, plpgsql, volatile

-- heddle.workers_seen(p_lanes integer[], p_workers text[], p_concurrency integer[], p_now timestamp with time zone)
--   returns void, plpgsql, volatile

-- heddle.write_end_deliveries(p_ids uuid[], p_now timestamp with time zone)
--   returns integer, plpgsql, volatile, set plan_cache_mode=force_generic_plan

-- heddle.write_notices(p_notices jsonb, p_now timestamp with time zone)
--   returns integer, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.write_one(p_id uuid, p_child uuid, p_opens boolean, p_lease bigint, p_holder text, p_pack bigint, p_now timestamp with time zone)
--   returns void, plpgsql, volatile

-- heddle.write_start_deliveries(p_ids uuid[], p_lease bigint, p_now timestamp with time zone)
--   returns void, plpgsql, volatile

-- heddle.write_task_notices(p_ids uuid[], p_codes json, p_notices jsonb, p_now timestamp with time zone)
--   returns integer, plpgsql, volatile, set plan_cache_mode=force_generic_plan, enable_seqscan=off

-- heddle.yield_slots(p_tasks uuid[])
--   returns integer[], plpgsql, volatile
