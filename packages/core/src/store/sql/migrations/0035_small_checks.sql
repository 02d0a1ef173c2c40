-- Only what no statement may get wrong unseen: an attempt under way has a lease, what has ended says when, and the counts
-- of workflows and containers add up. PostgreSQL parses a condition again for each statement that changes the table, which
-- for one row takes longer than everything else that the statement does.
alter table task drop constraint task_is_sound;
alter table task add constraint task_is_sound check (
  case when state < 5 then (state < 2) = (lease_id is null) else (state >= 10) = (ended_at is not null) end
) not valid;
alter table workflow
  drop constraint workflow_task_count_check,
  drop constraint workflow_check,
  drop constraint workflow_check1,
  drop constraint workflow_has_outcome,
  drop constraint workflow_is_counted;
alter table workflow add constraint workflow_is_sound check (
  (remaining = 0) = (ended_at is not null) and remaining + succeeded + failed + canceled + skipped = task_count
) not valid;
alter table container
  drop constraint container_check,
  drop constraint container_check1,
  drop constraint container_mode_check,
  drop constraint container_open_check,
  drop constraint container_open_generators_check,
  drop constraint container_policy_check,
  drop constraint container_state_check;
alter table container add constraint container_is_sound check (
  (state >= 10) = (ended_at is not null)
  and open + succeeded + failed + timed_out + partially_failed + disabled = children
) not valid;
