-- Messages of the queues that live in this database. A row changes its place in the index at every delivery and dies
-- soon: receivers therefore remember how far they came, and do not walk over what died since the last vacuum.
create table queue_message (
  queue text collate "C" not null,
  id uuid not null,
  -- Handed out from then on; of a message that somebody holds: to others.
  visible_at timestamptz not null,
  sent_at timestamptz not null,
  -- The delivery that holds it; null where nobody does.
  receipt bigint,
  receive_count integer not null default 0 check (receive_count >= 0),
  body text not null,
  primary key (queue, id)
) with (
  autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
  toast.autovacuum_vacuum_scale_factor = 0.0, toast.autovacuum_vacuum_threshold = 5000,
  -- A queue that runs empty fills again; giving the pages back would lock everybody out for a moment.
  vacuum_truncate = off, toast.vacuum_truncate = off);

create index queue_message_due on queue_message (queue, visible_at);

-- Names deliveries; numbers are lost in a crash, which does no harm.
create sequence queue_receipt cache 100;

-- Messages that nobody will take.
create table queue_dead (
  queue text collate "C" not null,
  id uuid not null,
  reason text not null check (length(reason) <= 2000),
  receive_count integer not null,
  sent_at timestamptz not null,
  died_at timestamptz not null,
  body text not null,
  primary key (queue, id)
);

create index queue_dead_died on queue_dead (died_at, id);

-- Messages for a queue elsewhere that were sent within a transaction, or whose delay is longer than that queue allows.
create table queue_outgoing (
  position bigint generated always as identity primary key,
  queue text not null,
  id uuid not null,
  message_group text,
  -- When to try next; while a try is under way, when another process may.
  next_try_at timestamptz not null,
  tries integer not null default 0,
  body text not null,
  created_at timestamptz not null,
  unique (queue, id)
) with (
  autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
  vacuum_truncate = off);

create index queue_outgoing_due on queue_outgoing (next_try_at, position);
create index queue_outgoing_group on queue_outgoing (queue, message_group, position) where message_group is not null;

-- Bodies that a queue elsewhere cannot carry: its message has the id alone.
create table queue_body (
  id uuid primary key,
  body text not null,
  -- The delivery that loaded it last: no other may delete it.
  receipt uuid,
  -- When a message with it was last sent or loaded: a queue that forgets its messages leaves their bodies behind.
  touched_at timestamptz not null
);

create index queue_body_touched on queue_body (touched_at);
