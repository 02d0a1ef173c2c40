-- Lists of rules that tasks share. Tasks stored before have theirs in task_spec, as do those with a list that came when the
-- table was full.
create table rule_set (
  id integer generated always as identity primary key,
  -- Of the list, so that a list is found whatever its length.
  digest bytea not null unique,
  list jsonb not null,
  -- The shape and the limit of each rule of the list, in its order.
  shapes integer[] not null,
  maxima bigint[] not null,
  check (cardinality(shapes) = cardinality(maxima))
);
alter table task add column rule_set_id integer;
alter table archive_task add column rule_set_id integer;
