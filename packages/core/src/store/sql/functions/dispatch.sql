-- Claims tasks for the queues of their kinds, as many as the workers that read them need.
-- Locks: an advisory lock for each kind, tried; then those of claim. Presence: kinds by number.
-- Callers: store/claims.ts; sweep_queued.

-- How many attempts may wait in the queue of a kind: enough that its workers never wait for the next pass, and no more,
-- since messages in the queue ignore priorities and pauses.
create or replace function queue_window(p_concurrency integer)
returns integer language sql immutable as $$
  select greatest(100, least(p_concurrency, 100000) * 2)
$$;

-- Whether a worker that reads the queue of a kind was seen within a minute. Without one its tasks stay available to
-- workers in a server's process or over the pull API.
create or replace function reads_queue(p_kind integer, p_now timestamptz)
returns boolean language sql stable as $$
  select exists (select 1 from claimer c
    where c.lane = p_kind and c.concurrency is not null and c.seen_at > p_now - interval '1 minute')
$$;

-- Kinds whose queues have free capacity while tasks are ready, the emptiest queue first.
create or replace function dispatchable(p_limit integer, p_now timestamptz)
returns table (kind_id integer) language sql stable set enable_seqscan = off set enable_bitmapscan = off as $$
  select k.id from kind k
  left join (
    select l.queued_kind, sum(l.open) as queued from lease l where l.queued_kind is not null group by l.queued_kind) q
  on q.queued_kind = k.id
  where k.dispatched and coalesce(q.queued, 0) < queue_window(k.worker_concurrency)
    -- The limit keeps it a lookup of one row per lane: for "exists" the planner may hash all ready rows.
    and (select true from ready r where r.lane = k.id limit 1)
    and reads_queue(k.id, coalesce(p_now, clock_timestamp()))
  order by coalesce(q.queued, 0), k.id limit p_limit
$$;

-- Claims ready tasks of a kind for its queue, as many as the window allows; nothing while another transaction does.
-- Returns what claim returns.
create or replace function dispatch(p_kind integer, p_limit integer, p_holder text, p_now timestamptz)
returns claimed language plpgsql set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_room bigint;
begin
  if not pg_try_advisory_xact_lock(7202, p_kind) then return null; end if;
  -- Counted in the next statement: the snapshot of the locking one may be older than the last holder's commit.
  select queue_window(k.worker_concurrency) - coalesce(
    (select sum(l.open) from lease l where l.queued_kind = p_kind), 0) into v_room
  from kind k where k.id = p_kind and k.dispatched and reads_queue(p_kind, coalesce(p_now, clock_timestamp()));
  if v_room is null or v_room <= 0 then return null; end if;
  return claim(array[p_kind], least(v_room, p_limit)::integer, p_holder, 'queue', 0, null, p_now);
end $$;

-- Records the presence of workers that read queues: their kinds go through queues from now on, for as many attempts as
-- the live ones run together. One entry per lane and worker, in the order of both.
create or replace function workers_seen(p_lanes integer[], p_workers text[], p_concurrency integer[],
  p_now timestamptz)
returns void language plpgsql as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
  perform 1 from kind where id = any(p_lanes) order by id for no key update;
  update kind set taken = true where id = any(p_lanes) and not taken;
  insert into claimer as c (lane, holder, seen_at, concurrency)
  select u.lane, u.worker, v_now, u.concurrency from unnest(p_lanes, p_workers, p_concurrency) u(lane, worker, concurrency)
  on conflict (lane, holder) do update set seen_at = excluded.seen_at, concurrency = excluded.concurrency;
  update kind k set dispatched = true, worker_concurrency = a.concurrency
  from (
    select c.lane, least(sum(c.concurrency), 1000000)::integer as concurrency from claimer c
    where c.lane = any(p_lanes) and c.concurrency is not null and c.seen_at > v_now - interval '1 minute'
    group by c.lane) a
  where k.id = a.lane and not (k.dispatched and k.worker_concurrency = a.concurrency);
end $$;
