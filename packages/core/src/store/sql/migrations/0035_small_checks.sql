-- Only what no statement may get wrong unseen: an attempt under way has a lease, what has ended says when, and the counts
-- of a workflow add up. PostgreSQL parses a condition again for each statement that changes the table, which for one task
-- takes longer than everything else that the statement does.
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
