-- What attempts logged.
-- Locks: none; chunks of one attempt are written by its worker alone.
-- Callers: store/task-logs.ts; retain (its rows go with their tasks).

-- Stores chunks of lines, one entry each; p_data: their contents in one value, p_sizes long each. A chunk that comes
-- again, with more lines or the same, replaces itself. Of an attempt that logged more than p_bytes_max the first quarter
-- and the newest rest are kept.
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
      where l.lines < excluded.lines
    returning l.task_id, l.attempt, l.start_byte + l.bytes as total
  )
  delete from task_log d using stored s
  where s.total > p_bytes_max and d.task_id = s.task_id and d.attempt = s.attempt
    and d.start_byte + d.bytes > p_bytes_max / 4
    and d.start_byte + d.bytes <= s.total - (p_bytes_max - p_bytes_max / 4);
end $$;

-- The chunks of an attempt that hold lines from a number on, in order, as many as p_bytes_max bytes and at least one.
create or replace function logs_of(p_task uuid, p_attempt integer, p_from integer, p_bytes_max integer)
returns table (first_line integer, lines integer, data bytea) language sql stable as $$
  select c.first_line, c.lines, c.data from (
    select l.*, sum(l.bytes) over (order by l.first_line) - l.bytes as before from task_log l
    where l.task_id = p_task and l.attempt = p_attempt and l.first_line + l.lines > p_from) c
  where c.before < p_bytes_max order by c.first_line
$$;
