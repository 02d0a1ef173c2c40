-- The same condition in fewer words: PostgreSQL parses it again for each statement that changes tasks.
alter table task drop constraint task_is_sound;
alter table task add constraint task_is_sound check (
  (state >= 10) = (ended_at is not null)
  and (state = 5) = (paused_at is not null) and (paused_at is null) = (paused_from is null)
  and case
    when state < 2 then lease_id is null and slots is null and (state = 0) = (open_gates > 0)
    when state < 5 then lease_id is not null and attempt > 0
    else state = 5 or state between 10 and 15
  end
  and state >= 0 and open_gates >= 0 and timeout_secs > 0 and abs(priority) <= 1000
) not valid;
