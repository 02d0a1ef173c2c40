-- Why tasks failed: those that failed alike have one fingerprint.
-- Locks: the caller holds the tasks.
-- Callers: settle, retry, retry_trees, retain; store/home.ts.

-- Returns a reason without its variable parts: quoted values, and words with digits, such as ids, numbers and ports.
-- IP addresses, versions, exit codes, statuses and error codes such as E404 stay, since they tell failures apart. Only
-- the beginning of a long reason counts.
create or replace function failure_pattern(p_reason text)
returns text language sql immutable parallel safe as $$
  select replace(regexp_replace(regexp_replace(regexp_replace(translate(left(p_reason, 300), E'\n\r\t', '   '),
    -- An apostrophe within a word begins no quoted value.
    '"[^"]*"|`[^`]*`|(?<!\w)''[^'']*''(?!\w)', '…', 'g'),
    -- The word joiner keeps a code from the next step.
    '\m(exit|exited with|code|status|signal|errno|HTTP|answered|responded|answered with)([ :=]{1,2})(\d{1,3})(?![\w.-])',
    E'\\1\\2\u2060\\3', 'g'),
    E'(?<![\\w.\u2060-])(?=[\\w.-]*\\d)(?!(\\d+(\\.\\d+){2,3}|[A-Z][A-Z0-9_]{1,6})(?![\\w.-]))[\\w.-]+', '…', 'g'),
    E'\u2060', '')
$$;

create or replace function failure_fingerprint(p_kind integer, p_reason text)
returns bigint language sql immutable parallel safe as $$
  select hashtextextended(coalesce(failure_pattern(p_reason), ''), p_kind)
$$;

-- Remembers those of these tasks that ended failed or timed out.
create or replace function record_failures(p_ids uuid[])
returns void language sql as $$
  -- The pattern of a reason is the expensive part: once for all tasks that have it.
  with alike as (
    select e.kind_id, failure_fingerprint(e.kind_id, e.reason) as fingerprint, array_agg(e.id) as ids,
      array_agg(e.workflow_id) as workflows, array_agg(e.ended_at) as ends
    from (
      select t.id, t.workflow_id, t.kind_id, t.ended_at, left(t.reason, 300) as reason
      from task t where t.id = any(p_ids) and (t.state + 0) in (:failed, :timed_out)) e
    group by e.kind_id, e.reason
  )
  insert into failure as f (task_id, workflow_id, kind_id, fingerprint, ended_at)
  select u.id, u.workflow_id, a.kind_id, a.fingerprint, u.ended_at
  from alike a cross join unnest(a.ids, a.workflows, a.ends) u(id, workflow_id, ended_at)
  on conflict (task_id) do update set fingerprint = excluded.fingerprint, ended_at = excluded.ended_at
$$;

-- Forgets the failures of tasks that run again or are deleted.
create or replace function forget_failures(p_ids uuid[])
returns void language sql as $$
  delete from failure where task_id = any(p_ids)
$$;
