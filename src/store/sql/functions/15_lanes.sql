-- Where the ready row of a task stands: lane 0 for those that start by a webhook, -1 for those that have no runner yet and
-- need one, asked_lane() once they have asked for it, else its kind. The lane of a runner is its negated number. The planner puts the expression in the call's place.
create or replace function lane_of(p_starts_by_webhook boolean, p_needs_runner boolean, p_kind integer)
returns integer language sql immutable parallel safe as $$
  select case when p_starts_by_webhook then 0 when p_needs_runner then -1 else p_kind end
$$;

-- Where those stand that have asked for a runner and wait for it, so that a look at who has not asked passes none of them.
-- No runner has this number.
create or replace function asked_lane()
returns integer language sql immutable parallel safe as $$
  select -2147483647
$$;
