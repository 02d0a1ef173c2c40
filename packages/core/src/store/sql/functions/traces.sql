-- Trace contexts of workflows and attempts. Locks nothing.
-- Callers: store/claims.ts, store/traces.ts; sweep, sweep_queued, deliveries.

-- Returns the W3C trace contexts of those of these workflows that have one, by id. Volatile, so that it sees workflows
-- stored after the calling statement began.
create or replace function traceparents_of(p_workflows uuid[])
returns jsonb language plpgsql volatile set enable_seqscan = off as $$
begin
  return (select jsonb_object_agg(w.id, w.traceparent) from workflow w
    where w.id = any(p_workflows) and w.traceparent is not null);
end $$;

-- Returns the span data of open attempts among those tasks whose workflows have a trace. An attempt that waits for its
-- announced nodes has its span already.
create or replace function traced_attempts(p_ids uuid[], p_now timestamptz)
returns table (id uuid, workflow_id uuid, kind text, name text, attempt integer, traceparent text, generator_id uuid,
  generator_attempt integer, ready_ms double precision, started_ms double precision, now_ms double precision)
language sql stable set enable_seqscan = off as $$
  select t.id, t.workflow_id, k.name, t.name, t.attempt, w.traceparent, t.generator_id, t.generator_attempt,
    extract(epoch from coalesce(t.run_at, t.created_at)) * 1000, extract(epoch from t.started_at) * 1000,
    extract(epoch from coalesce(p_now, clock_timestamp())) * 1000
  from task t join workflow w on w.id = t.workflow_id join kind k on k.id = t.kind_id
  where t.id = any(p_ids) and w.traceparent is not null
    and ((t.state + 0) in (:claimed, :running) or t.paused_from in (:claimed, :running))
$$;

-- The traced attempts ended by a settle of these tasks, with whether their tasks are retried.
create or replace function traced_ends(p_traced json, p_ids uuid[], p_settled json)
returns json language sql immutable as $$
  select json_agg(a.value::jsonb || jsonb_build_object('retrying', c.code = :result_retrying))
  from json_array_elements(p_traced) a
  join (
    select u.id, coalesce((p_settled -> 'codes' ->> (u.ord - 1)::integer)::integer, :result_applied) as code
    from unnest(p_ids) with ordinality u(id, ord)) c on c.id = (a.value ->> 'id')::uuid
  where c.code in (:result_applied, :result_retrying)
$$;
