-- Secrets that tasks name, and which of their values were sent.
-- Locks: a secret; note_sent_secrets: tasks by id.
-- Callers: store/named-secrets.ts, store/sent-secrets.ts; retain (what was sent goes with its task).

-- Sets a secret. Its former value may have been sent for a task that still runs, so it is kept for a while.
create or replace function put_named_secret(p_name text, p_key_id text, p_sealed bytea, p_grants text[], p_now timestamptz)
returns setof named_secret language plpgsql as $$
begin
  insert into retired_secret (version, name, key_id, sealed, grants, retired_at)
  select s.version, s.name, s.key_id, s.sealed, s.grants, p_now from named_secret s where s.name = p_name for update;
  return query
    insert into named_secret as s (name, key_id, sealed, grants, created_at, updated_at)
    values (p_name, p_key_id, p_sealed, p_grants, p_now, p_now)
    on conflict (name) do update set version = default, key_id = excluded.key_id, sealed = excluded.sealed,
      grants = excluded.grants, updated_at = excluded.updated_at
    returning s.*;
end $$;

-- One entry for each secret of a task. Secrets of unknown tasks are ignored.
create or replace function note_sent_secrets(p_tasks uuid[], p_names text[], p_versions bigint[])
returns void language plpgsql as $$
begin
  perform 1 from task t where t.id = any(p_tasks) order by t.id for no key update;
  insert into sent_secret (task_id, name, version)
  select u.task_id, u.name, u.version from unnest(p_tasks, p_names, p_versions) u(task_id, name, version)
  where exists (select 1 from task t where t.id = u.task_id)
  on conflict do nothing;
  update task set secrets_sent = true where id = any(p_tasks) and not secrets_sent;
end $$;
