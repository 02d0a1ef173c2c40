-- The audit log: entries in one chain over all processes.
-- Locks: an advisory lock for the end of the chain.
-- Callers: store/audit.ts.

-- Appends entries in order. The hash of each covers the hash before it, its number and its text.
create or replace function append_audit(p_entries text[])
returns void language plpgsql as $$
declare
  v_seq bigint;
  v_hash bytea;
  v_hashes bytea[] := '{}';
  v_entry text;
begin
  perform pg_advisory_xact_lock(hashtextextended('heddle.audit', 0));
  select a.seq, a.hash into v_seq, v_hash from audit_entry a order by a.seq desc limit 1;
  v_seq := coalesce(v_seq, 0);
  v_hash := coalesce(v_hash, decode(repeat('00', 32), 'hex'));
  for v_index in 1 .. cardinality(p_entries) loop
    v_entry := (v_seq + v_index)::text || ' ' || p_entries[v_index];
    v_hash := sha256(v_hash || convert_to(v_entry, 'UTF8'));
    v_hashes := v_hashes || v_hash;
  end loop;
  insert into audit_entry (seq, entry, hash)
  select v_seq + u.ord, u.entry, u.hash from unnest(p_entries, v_hashes) with ordinality u(entry, hash, ord);
end $$;

-- Deletes the entries before the first one that is not older than a time, never the last one, which the chain continues
-- from. Times need not ascend, since servers have clocks of their own; a gap would look like a removed entry.
create or replace function forget_audit(p_before_ms bigint, p_limit integer)
returns void language sql as $$
  delete from audit_entry where seq in (
    select a.seq from audit_entry a
    where a.seq < coalesce(
      (select k.seq from audit_entry k where ((k.entry::json) ->> 'at')::bigint >= p_before_ms order by k.seq limit 1),
      (select max(m.seq) from audit_entry m))
    order by a.seq limit p_limit)
$$;
