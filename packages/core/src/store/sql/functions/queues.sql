-- Messages of queues. Writes whose loss in a crash only causes a redelivery do not wait for the disk: deliveries, their
-- ends and their extensions.

-- Delivers at most p_max due messages, oldest first, from p_from_ms on (null: from the beginning), of at most about
-- p_bytes together. Messages delivered p_max_receives times already are dead-lettered instead. `mark` is when the
-- message was due. If there is nothing: one row without id, with the number of dead-lettered messages, and in `mark`
-- when the next one is due.
create or replace function receive_messages(p_queue text, p_max integer, p_visibility_ms bigint, p_max_receives integer,
  p_bytes bigint, p_from_ms bigint, p_now timestamptz)
returns table (id uuid, receipt bigint, receive_count integer, sent_at timestamptz, body text, mark timestamptz,
  seen_at timestamptz)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_from timestamptz := coalesce(to_timestamp(p_from_ms / 1000.0), '-infinity');
  v_taken tid[];
  v_dead tid[];
  v_mark timestamptz;
begin
  select array_agg(b.at) filter (where b.receive_count < p_max_receives and b.bytes_before < p_bytes),
    array_agg(b.at) filter (where b.receive_count >= p_max_receives),
    max(b.visible_at) filter (where b.bytes_before < p_bytes)
  into v_taken, v_dead, v_mark
  from (
    select l.at, l.receive_count, l.visible_at,
      coalesce(sum(l.bytes) over (rows between unbounded preceding and 1 preceding), 0) as bytes_before
    from (
      select m.ctid as at, m.receive_count, m.visible_at, octet_length(m.body) as bytes
      from queue_message m
      where m.queue collate "POSIX" = p_queue and m.visible_at >= v_from and m.visible_at <= v_now
      order by m.visible_at limit p_max for update skip locked) l) b;

  if v_dead is null then
    perform set_config('synchronous_commit', 'off', true);
  else
    with gone as (
      delete from queue_message m where m.ctid = any(v_dead)
      returning m.queue, m.id, m.receive_count, m.sent_at, m.body
    )
    insert into queue_dead (queue, id, reason, receive_count, sent_at, dead_lettered_at, body)
    select g.queue, g.id, 'received ' || g.receive_count || ' times and never settled', g.receive_count, g.sent_at, v_now, g.body
    from gone g
    on conflict (queue, id) do update set reason = excluded.reason, receive_count = excluded.receive_count,
      sent_at = excluded.sent_at, dead_lettered_at = excluded.dead_lettered_at, body = excluded.body;
  end if;
  if v_taken is null then
    return query select null::uuid, null::bigint, coalesce(cardinality(v_dead), 0), null::timestamptz, null::text,
      (select m.visible_at from queue_message m where m.queue collate "POSIX" = p_queue and m.visible_at > v_now
       order by m.visible_at limit 1), v_now;
    return;
  end if;
  return query update queue_message m set visible_at = v_now + p_visibility_ms * interval '1 millisecond',
    receipt = nextval('queue_receipt'), receive_count = m.receive_count + 1
  where m.ctid = any(v_taken)
  returning m.id, m.receipt, m.receive_count, m.sent_at, m.body, v_mark, v_now;
end $$;

-- Locks the messages of these receipts, and returns their places. Each is found by its key, whatever the planner believed when
-- it planned this for a queue that was empty: the ids drive the join, since a subquery with an offset stays what it is, and
-- the index of what is due, which has a collation of its own, does not serve it.
create or replace function lock_messages(p_queue text, p_ids uuid[], p_receipts bigint[])
returns tid[]
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return array(
    select l.at from unnest(p_ids, p_receipts) r(id, receipt)
    cross join lateral (
      select m.ctid as at from queue_message m
      where m.queue = p_queue and m.id = r.id and m.receipt = r.receipt offset 0 for update) l);
end $$;

-- Deletes the messages of these receipts; returns their number.
create or replace function delete_messages(p_queue text, p_ids uuid[], p_receipts bigint[])
returns integer language plpgsql as $$
declare
  v_at tid[] := lock_messages(p_queue, p_ids, p_receipts);
begin
  perform set_config('synchronous_commit', 'off', true);
  delete from queue_message m where m.ctid = any(v_at);
  return cardinality(v_at);
end $$;

-- Makes the messages of these receipts visible p_delay_ms from now; with p_release the receipts end. Returns their
-- number.
create or replace function hide_messages(p_queue text, p_ids uuid[], p_receipts bigint[], p_delay_ms bigint,
  p_release boolean, p_now timestamptz)
returns integer language plpgsql as $$
declare
  v_at tid[] := lock_messages(p_queue, p_ids, p_receipts);
begin
  perform set_config('synchronous_commit', 'off', true);
  update queue_message m set
    visible_at = coalesce(p_now, clock_timestamp()) + p_delay_ms * interval '1 millisecond',
    receipt = case when p_release then null else m.receipt end
  where m.ctid = any(v_at);
  return cardinality(v_at);
end $$;

-- Dead-letters the messages of these receipts; returns their number.
create or replace function dead_letter_messages(p_queue text, p_ids uuid[], p_receipts bigint[], p_reasons text[], p_now timestamptz)
returns integer language plpgsql as $$
declare
  v_at tid[] := lock_messages(p_queue, p_ids, p_receipts);
begin
  with gone as (
    delete from queue_message m where m.ctid = any(v_at)
    returning m.id, p_reasons[array_position(p_ids, m.id)] as reason, m.receive_count, m.sent_at, m.body
  )
  insert into queue_dead (queue, id, reason, receive_count, sent_at, dead_lettered_at, body)
  select p_queue, g.id, g.reason, g.receive_count, g.sent_at, coalesce(p_now, clock_timestamp()), g.body from gone g
  on conflict (queue, id) do update set reason = excluded.reason, receive_count = excluded.receive_count,
    sent_at = excluded.sent_at, dead_lettered_at = excluded.dead_lettered_at, body = excluded.body;
  return cardinality(v_at);
end $$;

-- Turns at most p_limit dead letters into ordinary messages, as if just sent; returns their number.
create or replace function redrive_messages(p_queue text, p_ids uuid[], p_limit integer, p_now timestamptz)
returns integer
language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_moved integer;
begin
  with picked as materialized (
    select d.ctid as at from queue_dead d
    where d.queue = p_queue and (p_ids is null or d.id = any(p_ids))
    order by d.id limit p_limit for update skip locked
  ), gone as (
    delete from queue_dead d where d.ctid = any(array(select p.at from picked p))
    returning d.queue, d.id, d.sent_at, d.body
  ), sent as (
    insert into queue_message (queue, id, visible_at, sent_at, body)
    select g.queue, g.id, v_now, g.sent_at, g.body from gone g
    on conflict (queue, id) do nothing
  )
  select count(*) into v_moved from gone;
  return v_moved;
end $$;

-- Claims messages of the outbox for one try each, in the order in which they were written, until the lease expires.
-- Within a group, a message is not claimed before those ahead of it are sent.
create or replace function claim_outgoing(p_limit integer, p_bytes bigint, p_lease_ms bigint, p_now timestamptz)
returns table ("position" bigint, queue text, id uuid, message_group text, body text, tries integer)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_taken bigint[];
begin
  -- One claim at a time: another, uncommitted one could hold the messages ahead.
  perform pg_advisory_xact_lock(hashtextextended('heddle.queue_outgoing', 0));
  select array_agg(l.position) filter (where l.bytes_before < p_bytes) into v_taken
  from (
    select d.position, coalesce(sum(d.bytes) over (rows between unbounded preceding and 1 preceding), 0) as bytes_before
    from (
      select o.position, octet_length(o.body) as bytes from queue_outgoing o
      where o.next_try_at <= v_now and (o.message_group is null or not exists (
        select 1 from queue_outgoing e
        where e.queue = o.queue and e.message_group = o.message_group and e.position < o.position
          and e.next_try_at > v_now))
      order by o.next_try_at, o.position limit p_limit) d) l;
  return query update queue_outgoing o set tries = o.tries + 1, next_try_at = v_now + p_lease_ms * interval '1 millisecond'
  where o.position = any(v_taken)
  returning o.position, o.queue, o.id, o.message_group, o.body, o.tries;
end $$;
