-- What attempts logged, in chunks of lines. `start_byte`: bytes of the lines before it, by which the bound of an attempt
-- is kept. They stay where they are when their tasks move to the archive.
create table task_log (
  task_id uuid not null,
  attempt integer not null check (attempt > 0),
  first_line integer not null check (first_line >= 0),
  lines integer not null check (lines > 0),
  start_byte bigint not null check (start_byte >= 0),
  bytes integer not null check (bytes >= 0),
  data bytea not null,
  primary key (task_id, attempt, first_line)
);
alter table task_log alter column data set storage external;
