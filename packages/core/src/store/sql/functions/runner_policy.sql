-- Runner classes and their times.
-- Callers: the statements of store/runners/.

-- The timeouts of the pool, read here by all statements, so that they do not depend on the calling process; p_times
-- takes precedence. Timeouts that classes may override are read with runner_type_time: `classes` holds the timeouts of
-- the classes that differ from the first one.
create or replace function runner_times(p_times jsonb)
returns jsonb language sql stable as $$
  select coalesce(b.times, '{}')
    || case when p_times ? 'idle_ms' then '{}' else jsonb_build_object('classes', (
      select jsonb_object_agg(c.name, c.times) from runner_class c where c.times <> b.times)) end
    || p_times
  from (select 1) x left join (select c.times from runner_class c order by c.name limit 1) b on true
$$;

-- Returns a timeout for runners of a type, according to its class.
create or replace function runner_type_time(p_type integer, p_times jsonb, p_name text)
returns double precision language sql stable as $$
  select (coalesce(
    case when jsonb_typeof(p_times -> 'classes') = 'object' then (
      select p_times -> 'classes' -> y.resource_class from runner_type y where y.id = p_type) end,
    p_times) ->> p_name)::double precision
$$;

create or replace function runner_type_after(p_now timestamptz, p_type integer, p_times jsonb, p_name text)
returns timestamptz language sql stable as $$
  select p_now + runner_type_time(p_type, p_times, p_name) * interval '1 millisecond'
$$;

-- Stores the policy, one row per class. Without p_replace an existing policy is kept. Returns whether one was replaced.
-- p_classes: [{name, cpu, memory_mib, times}].
create or replace function runner_set_policy(p_classes jsonb, p_replace boolean)
returns boolean language plpgsql as $$
declare
  v_replaced boolean;
begin
  -- Fits are computed with the classes of the same transaction.
  perform pg_advisory_xact_lock(7302, 1);
  if not p_replace and exists (select 1 from runner_class) then return false; end if;
  with given as (
    select c.* from jsonb_to_recordset(p_classes) c(name text, cpu integer, memory_mib integer, times jsonb)
  )
  select exists (select 1 from runner_class) and exists (
    (table given except table runner_class) union all (table runner_class except table given))
  into v_replaced;
  delete from runner_class c where c.name not in (select g.name from jsonb_to_recordset(p_classes) g(name text));
  insert into runner_class as c (name, cpu, memory_mib, times)
  select g.name, g.cpu, g.memory_mib, g.times
  from jsonb_to_recordset(p_classes) g(name text, cpu integer, memory_mib integer, times jsonb)
  on conflict (name) do update set cpu = excluded.cpu, memory_mib = excluded.memory_mib, times = excluded.times
  where (c.cpu, c.memory_mib, c.times) <> (excluded.cpu, excluded.memory_mib, excluded.times);
  return v_replaced;
end $$;
