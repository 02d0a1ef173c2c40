/**
 * Conditions on rows that hold in every database of Heddle. Those that databases check themselves are few, since each
 * statement parses them again; databases of tests check all.
 */
export const STRICT_CHECKS = `
  alter table heddle.task add constraint task_is_sound_in_tests check (
    (state >= 10) = (ended_at is not null)
    and (state = 5) = (paused_at is not null) and (paused_at is null) = (paused_from is null)
    and case
      when state < 2 then lease_id is null and slots is null and (state = 0) = (open_gates > 0)
      when state < 5 then lease_id is not null and attempt > 0
      else state = 5 or state between 10 and 15
    end
    and state >= 0 and open_gates >= 0 and timeout_secs > 0 and abs(priority) <= 1000
  );
  alter table heddle.workflow add constraint workflow_is_sound_in_tests check (
    remaining between 0 and task_count and (outcome is null or ended_at is not null)
  );
  alter table heddle.container add constraint container_is_sound_in_tests check (
    open >= 0 and open_generators >= 0 and mode in (0, 1) and policy in (0, 1, 2)
    and state in (0, 3, 10, 11, 12, 13, 15)
  );
`;
