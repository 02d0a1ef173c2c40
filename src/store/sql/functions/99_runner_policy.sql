-- The times of the pool. Statements ask for them here, so that they are the same whichever process calls; what p_times
-- itself names goes before.
create or replace function runner_times(p_times jsonb)
returns jsonb language sql stable as $$
  select coalesce((select p.times from runner_policy p), '{}') || p_times
$$;

-- Writes the policy. Without p_replace one that is there stays. Returns whether another one was replaced.
-- p_classes: [{name, cpu, memory_mib}].
create or replace function runner_set_policy(p_classes jsonb, p_times jsonb, p_replace boolean)
returns boolean language plpgsql as $$
declare
  v_replaced boolean;
begin
  -- What is decided about types holds for the classes of its transaction.
  perform pg_advisory_xact_lock(7302, 1);
  if not p_replace and exists (select 1 from runner_policy) then return false; end if;
  with given as (select c.name, c.cpu, c.memory_mib from jsonb_to_recordset(p_classes) c(name text, cpu integer, memory_mib integer))
  select exists (select 1 from runner_policy p where p.times <> p_times)
    or exists (select 1 from runner_policy) and exists (
      (table given except table runner_class) union all (table runner_class except table given))
  into v_replaced;
  delete from runner_class c where c.name not in (select g.name from jsonb_to_recordset(p_classes) g(name text));
  insert into runner_class as c (name, cpu, memory_mib)
  select g.name, g.cpu, g.memory_mib from jsonb_to_recordset(p_classes) g(name text, cpu integer, memory_mib integer)
  on conflict (name) do update set cpu = excluded.cpu, memory_mib = excluded.memory_mib
  where (c.cpu, c.memory_mib) <> (excluded.cpu, excluded.memory_mib);
  insert into runner_policy as p (times) values (p_times)
  on conflict (only_row) do update set times = excluded.times where p.times <> excluded.times;
  return v_replaced;
end $$;
