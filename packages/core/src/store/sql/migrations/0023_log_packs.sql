-- Logs that were small and complete when their attempts ended: those of many attempts in one compressed value. `entries`:
-- the rows that refer to it, of task, archive_task and task_log; the last of them takes it along when it is deleted.
create table log_pack (
  id bigint primary key,
  entries integer not null check (entries > 0),
  data bytea not null
);
alter table log_pack alter column data set storage external;
create sequence log_pack_id owned by log_pack.id;

-- The pack with what the first attempt logged, if it is in one. Those of later attempts, and of attempts that were not
-- accepted, are in task_log.
alter table task add column log_pack bigint;
alter table archive_task add column log_pack bigint;

-- Either lines, or the pack that they are in. Rows from before have lines, and need not be read to be sure of it.
alter table task_log add column pack bigint, alter column data drop not null;
alter table task_log add constraint task_log_place check (num_nonnulls(data, pack) = 1) not valid;
