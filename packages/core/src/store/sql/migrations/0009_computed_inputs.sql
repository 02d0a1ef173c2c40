-- Expressions stand in its input: it is computed when an attempt is handed out.
alter table task add column computed boolean not null default false;
alter table archive_task add column computed boolean not null default false;
-- What those expressions read: {nodes: {name: id of the task or container}, data: [names]}.
alter table task_spec add column reads jsonb;
alter table archive_task_spec add column reads jsonb;
