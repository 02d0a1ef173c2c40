-- Lanes of ready rows. Callers: whatever makes tasks ready; store/obstacles.ts.

-- The lane of a task's ready row: 0 for those that start by a webhook, -1 for those that require a runner and have
-- none, asked_lane() once they have requested it, else the kind. A runner's lane is its negated number. The planner
-- inlines it.
create or replace function lane_of(p_starts_by_webhook boolean, p_needs_runner boolean, p_kind integer)
returns integer language sql immutable parallel safe as $$
  select case when p_starts_by_webhook then :lane_webhook when p_needs_runner then :lane_runners else p_kind end
$$;

-- The lane of tasks that have requested a runner and wait for it, so that the search for new requests skips them. No
-- runner has this number.
create or replace function asked_lane()
returns integer language sql immutable parallel safe as $$
  select -2147483647
$$;
