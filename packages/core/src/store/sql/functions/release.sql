-- Requeues attempts that will not be finished.
-- Locks: tasks by id, then leases by id, then slots by id.
-- Callers: store/claims.ts.

-- Requeues attempts that their workers will not finish (distinct ids): they are ready at once. p_outcome: as in
-- give_back. Codes as in settle; a canceled attempt releases what it held.
create or replace function release_attempts(p_ids uuid[], p_attempts integer[], p_outcome integer, p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_codes smallint[];
  v_ids uuid[];
  v_lanes integer[];
  v_given json;
begin
  with locked as (
    select t.id, t.state, t.paused_from, t.attempt, t.starts_by_webhook from task t
    where t.id = any(p_ids) order by t.id for no key update
  ), decided as (
    select r.ord, r.id, case when l.id is null then :result_not_found when r.attempt <> l.attempt then :result_stale_attempt
        when l.state in (:waiting, :pending)
          or (l.state = :paused and l.paused_from in (:waiting, :pending)) then :result_unchanged
        -- A webhook target does not claim tasks, and a task that waits for its children has no holder.
        when l.state >= :terminal or l.starts_by_webhook or :expanding in (l.state, l.paused_from) then :result_conflict
          else :result_applied end::smallint as code
    from unnest(p_ids, p_attempts) with ordinality r(id, attempt, ord) left join locked l on l.id = r.id
  )
  select array_agg(d.code order by d.ord), array_agg(d.id) filter (where d.code = :result_applied) into v_codes, v_ids
    from decided d;
  v_lanes := release_canceled(p_ids, v_codes);
  if v_ids is not null then v_given := give_back(v_ids, p_outcome, 'its worker returned it', v_now); end if;
  return json_build_object('codes', v_codes, 'given', v_given, 'lanes', v_lanes, 'states', array(
    select t.state from unnest(p_ids) with ordinality q(id, ord) left join task t on t.id = q.id order by q.ord));
end $$;

-- Puts attempts back that a claim opened and never handed out (distinct ids), as release_attempts does: the next claim
-- opens the same attempt.
create or replace function put_back_attempts(p_ids uuid[], p_attempts integer[], p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_released json := release_attempts(p_ids, p_attempts, null, p_now);
begin
  -- The tasks are locked: those that are open again here were released just now.
  update task t set attempt = t.attempt - 1
  from unnest(p_ids, p_attempts, array(select c::smallint from json_array_elements_text(v_released -> 'codes') c))
    r(id, attempt, code)
  where t.id = r.id and r.code = :result_applied and t.attempt = r.attempt
    and (t.state + 0) in (:waiting, :pending, :paused);
  return v_released;
end $$;
