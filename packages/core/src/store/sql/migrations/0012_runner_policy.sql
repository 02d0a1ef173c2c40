-- The policy of the runner pool: what the settings of the servers say, for every process that works with the pool.
create table runner_class (
  name text primary key,
  cpu integer not null check (cpu > 0),
  memory_mib integer not null check (memory_mib > 0)
);

-- Milliseconds by name, and max_uses, for runners of all classes.
create table runner_policy (
  only_row boolean primary key default true check (only_row),
  times jsonb not null check (jsonb_typeof(times) = 'object')
);
