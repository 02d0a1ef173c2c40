-- What attempts logged.
-- Locks: packs by id, after all others; chunks of one attempt are written by its worker alone.
-- Callers: store/task-logs.ts; settle (logs that come with reports); retain (logs go with their tasks).

-- Stores chunks of lines, one entry each; p_data: their contents in one value, p_sizes long each. A chunk that comes
-- again, with more lines or the same, replaces itself. Of an attempt that logged more than p_bytes_max the first quarter
-- and the newest rest are kept, in whole chunks.
create or replace function append_logs(p_tasks uuid[], p_attempts integer[], p_first_lines integer[], p_lines integer[],
  p_bytes integer[], p_sizes integer[], p_data bytea, p_bytes_max integer)
returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  with stored as (
    insert into task_log as l (task_id, attempt, first_line, lines, start_byte, bytes, data)
    select u.task_id, u.attempt, u.first_line, u.lines, case u.first_line when 0 then 0 else coalesce(
        (select p.start_byte + p.bytes from task_log p
          where p.task_id = u.task_id and p.attempt = u.attempt and p.first_line < u.first_line
          order by p.first_line desc limit 1), 0) end, u.bytes,
      substring(p_data from u.ends - u.size + 1 for u.size)
    from (
      select e.*, sum(e.size) over (order by e.ord)::integer as ends
      from unnest(p_tasks, p_attempts, p_first_lines, p_lines, p_bytes, p_sizes) with ordinality
        e(task_id, attempt, first_line, lines, bytes, size, ord)) u
    join task t on t.id = u.task_id and t.attempt >= u.attempt
    on conflict (task_id, attempt, first_line) do update set
      lines = excluded.lines, bytes = excluded.bytes, data = excluded.data
      where l.lines < excluded.lines and l.pack is null
    returning l.task_id, l.attempt, l.start_byte + l.bytes as total
  )
  delete from task_log d using stored s
  where s.total > p_bytes_max and d.task_id = s.task_id and d.attempt = s.attempt
    and d.start_byte >= p_bytes_max / 4
    and d.start_byte + d.bytes <= s.total - (p_bytes_max - p_bytes_max / 4);
end $$;

-- Stores the pack of a set of reports that was just settled. p_lines: how many lines each of p_tasks has in it. Attempts
-- whose task did not get the number of the pack get a row. A report that comes again adds nothing.
create or replace function store_log_pack(p_pack bigint, p_data bytea, p_tasks uuid[], p_attempts integer[],
  p_lines integer[])
returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_entries integer;
begin
  with placed as (
    select u.task_id, u.attempt, u.lines, t.log_pack
    from unnest(p_tasks, p_attempts, p_lines) u(task_id, attempt, lines)
    join task t on t.id = u.task_id and t.attempt >= u.attempt
  ), added as (
    insert into task_log (task_id, attempt, first_line, lines, start_byte, bytes, pack)
    select p.task_id, p.attempt, 0, p.lines, 0, 0, p_pack from placed p where p.attempt > 1 or p.log_pack is null
    on conflict do nothing
    returning 1
  )
  select (select count(*) from placed where attempt = 1 and log_pack = p_pack) + (select count(*) from added)
  into v_entries;
  if v_entries > 0 then insert into log_pack (id, entries, data) values (p_pack, v_entries, p_data); end if;
end $$;

-- Deletes the logs of archived tasks, and the packs that nothing refers to any more.
create or replace function delete_logs(p_tasks uuid[])
returns void language plpgsql as $$
declare
  v_packs bigint[];
  v_counts integer[];
begin
  with deleted as (
    delete from task_log where task_id = any(p_tasks) returning pack
  )
  select array_agg(c.pack), array_agg(c.n) into v_packs, v_counts from (
    select r.pack, count(*)::integer as n from (
      select pack from deleted
      union all
      select log_pack from archive_task where id = any(p_tasks)) r
    where r.pack is not null group by r.pack) c;
  if v_packs is null then return; end if;
  perform 1 from log_pack where id = any(v_packs) order by id for update;
  delete from log_pack p using unnest(v_packs, v_counts) c(pack, n) where p.id = c.pack and p.entries <= c.n;
  update log_pack p set entries = p.entries - c.n from unnest(v_packs, v_counts) c(pack, n) where p.id = c.pack;
end $$;

-- The chunks of an attempt that hold lines from a number on, in order, as many as p_bytes_max bytes and at least one.
-- `packed`: a pack that has the lines of this attempt among others, instead of `data`.
create or replace function logs_of(p_task uuid, p_attempt integer, p_from integer, p_bytes_max integer)
returns table (first_line integer, data bytea, packed bytea) language sql stable as $$
  select c.first_line, c.data, (select p.data from log_pack p where p.id = c.pack) from (
    select l.*, sum(l.bytes) over (order by l.first_line) - l.bytes as before from (
      select first_line, bytes, data, pack from task_log
      where task_id = p_task and attempt = p_attempt and first_line + lines > p_from
      union all
      select 0, 0, null, log_pack from task_all where id = p_task and p_attempt = 1 and log_pack is not null) l) c
  where c.before < p_bytes_max order by c.first_line
$$;
