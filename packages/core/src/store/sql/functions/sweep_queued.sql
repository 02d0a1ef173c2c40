-- The part of sweep_leases for attempts that wait in queues.
-- Locks: those of settle, then tasks by id (skipping locked ones).
-- Callers: sweep_leases.

-- The id of the message that starts an attempt through a queue, as derivedId() creates it, so that the message or its
-- dead letter can be found by the attempt.
create or replace function start_message_id(p_task uuid, p_attempt integer)
returns uuid language sql immutable as $$
  select (left(p_task::text, 13) || '-7' || left(h.hash, 3)
    || '-' || substr('89ab89ab89ab89ab', strpos('0123456789abcdef', substr(h.hash, 4, 1)), 1) || substr(h.hash, 5, 3)
    || '-' || substr(h.hash, 8, 12))::uuid
  from (select encode(sha256(convert_to(p_task || '#' || p_attempt, 'UTF8')), 'hex') as hash) h
$$;

-- Checks attempts in queues (of these leases, which are due) that would wait there forever: those with a dead-lettered
-- message fail, since it was delivered and never settled; those whose queue has no reader are requeued and their
-- messages deleted, so that other workers can take them; those whose message has been gone for longer than any queue
-- keeps one are requeued, too. Returns {failed: what settle returns, attempts: those of them with a trace, requeued:
-- what give_back returns, returned: those of them with a trace}, or null.
create or replace function sweep_queued(p_tasks uuid[], p_leases bigint[], p_jitter double precision, p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_ids uuid[];
  v_attempts integer[];
  v_reasons text[];
  v_unread integer[];
  v_failed uuid[];
  v_traced json;
  v_returned json;
  v_settled json;
begin
  select array_agg(d.id), array_agg(d.attempt), array_agg(d.reason) into v_ids, v_attempts, v_reasons from (
    select t.id, t.attempt, 'its message became a dead letter: ' || q.reason as reason
    from task t join lease l on l.id = t.lease_id join kind k on k.id = l.queued_kind
    join queue_dead q on q.queue = 'worker:' || k.name and q.id = start_message_id(t.id, t.attempt)
    where t.id = any(p_tasks) and t.lease_id = any(p_leases)
      and (t.state + 0 = :claimed or (t.state + 0 = :paused and t.paused_from = :claimed))
    order by t.id) d;
  if v_ids is not null then
    v_failed := v_ids;
    v_traced := (select json_agg(a) from traced_attempts(v_ids, p_now) a);
    v_settled := settle(reports_of(v_ids, v_attempts, :failed, v_reasons), false, p_jitter, p_now);
  end if;

  v_unread := array(
    select distinct l.queued_kind from lease l
    where l.id = any(p_leases) and l.queued_kind is not null and not reads_queue(l.queued_kind, p_now)
      and exists (select 1 from claimer c
        where c.lane = l.queued_kind and c.concurrency is null and c.seen_at > p_now - interval '1 minute'));
  with held as materialized (
    select t.id, t.attempt, t.kind_id, l.claimed_at from task t join lease l on l.id = t.lease_id
    where t.id = any(p_tasks) and t.lease_id = any(p_leases) and l.queued_kind is not null and t.state + 0 = :claimed
      and (l.queued_kind = any(v_unread) or l.claimed_at <= p_now - interval '15 days')
    order by t.id for no key update of t skip locked
  ), taken as (
    -- A message that was received may have a running handler.
    delete from queue_message m using held h join kind k on k.id = h.kind_id
    where m.queue = 'worker:' || k.name and m.id = start_message_id(h.id, h.attempt)
      and k.id = any(v_unread) and (m.receipt is null or m.visible_at <= p_now)
    returning h.id
  )
  select array_agg(x.id) into v_ids from (
    select id from taken
    union all
    select h.id from held h join kind k on k.id = h.kind_id
    where h.claimed_at <= p_now - interval '15 days' and not exists (
        select 1 from queue_message m where m.queue = 'worker:' || k.name and m.id = start_message_id(h.id, h.attempt))
      and not exists (
        select 1 from queue_outgoing o where o.queue = 'worker:' || k.name and o.id = start_message_id(h.id, h.attempt))
    ) x;
  if v_settled is null and v_ids is null then return null; end if;
  v_returned := (select json_agg(a) from traced_attempts(v_ids, p_now) a);
  return json_build_object('failed', v_settled, 'attempts', traced_ends(v_traced, v_failed, v_settled),
    'requeued', case when v_ids is not null then give_back(v_ids, :attempt_undelivered,
      'no worker took its message from the queue', p_now) end, 'returned', v_returned);
end $$;
