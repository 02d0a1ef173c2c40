-- Which attempt of its generator made a node, or made it again: the latest. What a generator announces is counted by
-- attempt.
alter table task add column generator_attempt integer;
alter table archive_task add column generator_attempt integer;
alter table container add column generator_attempt integer;
alter table archive_container add column generator_attempt integer;
-- The attempt that `created` counts for.
alter table generator add column attempt integer not null default 0;
alter table archive_generator add column attempt integer not null default 0;

-- What was made so far was counted whatever the attempt.
update generator g set attempt = t.attempt from task t where t.id = g.task_id;
update archive_generator g set attempt = t.attempt from archive_task t where t.id = g.task_id;
update task n set generator_attempt = g.attempt from generator g where g.task_id = n.generator_id;
update archive_task n set generator_attempt = g.attempt from archive_generator g where g.task_id = n.generator_id;
update container n set generator_attempt = g.attempt from generator g where g.task_id = n.generator_id;
update archive_container n set generator_attempt = g.attempt from archive_generator g where g.task_id = n.generator_id;
