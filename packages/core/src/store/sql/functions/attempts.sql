-- Keeps what attempts were before their tasks run again. The last attempt has no row: the row of its task tells it, so
-- that a task which succeeds at once writes nothing more.
-- Locks: the caller holds the tasks.
-- Callers: settle, sweep, retry, retry_trees, retain; store/attempts.ts (attempts_of).

-- Keeps the current attempts of tasks that are about to run again, each with its outcome and reason. Without outcomes:
-- with those of the tasks, which have ended. An attempt is kept once, as it was then.
create or replace function keep_attempts(p_ids uuid[], p_outcomes smallint[], p_reasons text[], p_now timestamptz)
returns void language sql as $$
  insert into task_attempt (task_id, attempt, claimed_by, claimed_at, started_at, ended_at, outcome, reason, exit_code)
  select t.id, t.attempt, t.claimed_by, t.claimed_at, t.started_at, coalesce(t.ended_at, p_now),
    coalesce(u.outcome, t.state), case when p_outcomes is null then t.reason else u.reason end,
    t.exit_code
  from unnest(p_ids, p_outcomes, p_reasons) u(id, outcome, reason) join task t on t.id = u.id
  where t.attempt > 0
  on conflict do nothing
$$;

-- The attempts of a task, newest first, below a number or from the last one, with the last try of their start webhooks.
-- An open attempt has no outcome.
create or replace function attempts_of(p_task uuid, p_before integer, p_limit integer)
returns table (attempt integer, claimed_by text, claimed_at timestamptz, started_at timestamptz, ended_at timestamptz,
  outcome smallint, reason text, exit_code smallint, target text, target_status integer)
language sql stable as $$
  with kept as (
    select * from task_attempt k where k.task_id = p_task
    union all
    select * from archive_task_attempt k where k.task_id = p_task
  ), known as (
    select k.attempt, k.claimed_by, k.claimed_at, k.started_at, k.ended_at, k.outcome, k.reason, k.exit_code from kept k
    union all
    select t.attempt, t.claimed_by, t.claimed_at, t.started_at, t.ended_at,
      case when t.state >= :terminal then t.state end, case when t.state >= :terminal then t.reason end, t.exit_code
    from task_all t
    where t.id = p_task and t.attempt > 0 and coalesce(t.paused_from, t.state) not in (:waiting, :pending)
      and not exists (select 1 from kept k where k.attempt = t.attempt)
  )
  select k.*, d.origin, d.last_status from known k
  left join delivery d on d.task_id = p_task and d.attempt = k.attempt and d.trigger = 'start' and d.ordinal = 0
  where p_before is null or k.attempt < p_before
  order by k.attempt desc limit p_limit
$$;
