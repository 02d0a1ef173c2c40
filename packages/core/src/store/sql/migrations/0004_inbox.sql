-- Messages to the manager that had their effect: written in the transaction of that effect, so that a message that is
-- delivered again has none. Rows are kept for as long as the queue may deliver one again.
create table inbox (
  message_id uuid primary key,
  received_at timestamptz not null
) with (autovacuum_vacuum_insert_scale_factor = 0.2);

-- Oldest first is how they are forgotten.
create index inbox_received on inbox (received_at);
