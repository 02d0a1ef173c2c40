-- Files of tasks, whose contents are outside the database.
-- Locks: an advisory lock for the task that stores one, then one for each content.
-- Callers: store/artifacts.ts; retain (artifacts that are not pinned go with their tasks).

-- A transaction that stores a content under its digest, or removes it, holds this lock until its end.
create or replace function lock_blobs(p_digests bytea[])
returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended('heddle.artifact.' || encode(u.digest, 'hex'), 0))
  from (select distinct digest from unnest(p_digests) d(digest) order by digest) u
$$;

-- Stores an artifact of the current attempt of a task, replacing that of the same name. Returns why it was refused, or null.
create or replace function put_artifact(p_id uuid, p_task uuid, p_attempt integer, p_name text, p_digest bytea, p_size bigint,
  p_count_max integer, p_now timestamptz)
returns text language plpgsql as $$
begin
  -- The number of its artifacts stays exact, and its row free for the engine, while the content is stored.
  perform pg_advisory_xact_lock(hashtextextended('heddle.artifacts.' || p_task, 0));
  perform lock_blobs(array[p_digest]);
  perform 1 from task t where t.id = p_task and t.attempt = p_attempt and t.state < :terminal;
  if not found then
    return case when exists (select 1 from task_all t where t.id = p_task) then 'stale_attempt' else 'not_found' end;
  end if;
  if (select count(*) from artifact a where a.task_id = p_task and a.attempt = p_attempt and a.name <> p_name) >= p_count_max then
    return 'too_many';
  end if;
  insert into artifact_blob (digest, stored_at) values (p_digest, p_now)
  on conflict (digest) do update set stored_at = excluded.stored_at;
  insert into artifact (id, task_id, attempt, name, digest, size, created_at)
  values (p_id, p_task, p_attempt, p_name, p_digest, p_size, p_now)
  on conflict (task_id, attempt, name) do update set digest = excluded.digest, size = excluded.size,
    created_at = excluded.created_at;
  return null;
end $$;

-- Finds what a task calls NODE/NAME, of the latest attempt that has it. The node is a task of its workflow, by its own
-- name, or any task by its id (p_node_id; null if p_node is none).
create or replace function find_artifact(p_task uuid, p_node text, p_node_id uuid, p_name text)
returns setof artifact language sql stable as $$
  select a.* from artifact a
  where a.name = p_name and a.task_id in (
    select t.id from task_all t
    where t.workflow_id = (select o.workflow_id from task_all o where o.id = p_task) and t.local_id = p_node
    union all
    select p_node_id)
  order by a.attempt desc limit 1
$$;

-- Deletes artifacts of attempts whose worker was lost before it reported their end.
create or replace function delete_lost_artifacts(p_limit integer)
returns void language sql as $$
  delete from artifact where id in (
    select a.id from artifact a join (
      select k.task_id, k.attempt, k.outcome from task_attempt k
      union all
      select k.task_id, k.attempt, k.outcome from archive_task_attempt k) k
      on k.task_id = a.task_id and k.attempt = a.attempt
    where k.outcome = :attempt_lost and not a.pinned limit p_limit)
$$;

-- Locks contents and returns those that nothing uses: the caller removes them before it commits.
create or replace function take_unused_blobs(p_digests bytea[], p_before timestamptz)
returns setof bytea language plpgsql as $$
begin
  perform lock_blobs(p_digests);
  delete from artifact_blob b where b.digest = any(p_digests) and b.stored_at < p_before
    and not exists (select 1 from artifact a where a.digest = b.digest);
  return query select distinct u.digest from unnest(p_digests) u(digest)
    where not exists (select 1 from artifact_blob b where b.digest = u.digest);
end $$;
