-- Changes metadata and counters of tasks without a change of state.
-- Locks: tasks by id, then slots by id.
-- Callers: store/transitions.ts; settle (apply_extras).

-- RFC 7396.
create or replace function merge_patch(p_target jsonb, p_patch jsonb)
returns jsonb language plpgsql immutable as $$
declare
  v_result jsonb;
  v_key text;
  v_value jsonb;
begin
  if jsonb_typeof(p_patch) is distinct from 'object' then return p_patch; end if;
  v_result := case when jsonb_typeof(p_target) = 'object' then p_target else '{}'::jsonb end;
  for v_key, v_value in select * from jsonb_each(p_patch) loop
    if v_value = 'null'::jsonb then
      v_result := v_result - v_key;
    else
      v_result := v_result || jsonb_build_object(v_key, merge_patch(v_result -> v_key, v_value));
    end if;
  end loop;
  return v_result;
end $$;

-- Adds counters and merges metadata of tasks that the caller has locked, only those in p_ids. Slots that an open
-- attempt holds follow: capacity shrinks with the remaining work, changed fields move the attempt to other slots.
create or replace function apply_extras(p_ids uuid[], p_extras jsonb, p_now timestamptz)
returns integer[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_held uuid[];
  v_merged uuid[];
  v_slots bigint[];
  v_amounts bigint[];
  v_waiting bigint[];
begin
  select array_agg(x.id) filter (where t.slots is not null),
    array_agg(x.id) filter (where x.metadata_patch is not null and jsonb_typeof(x.metadata_patch) = 'object')
  into v_held, v_merged
  from jsonb_to_recordset(p_extras) as x(id uuid, metadata_patch jsonb)
  join unnest(p_ids) u(id) on u.id = x.id join task t on t.id = x.id;
  if v_held is not null then
    select h.slots, h.amounts into v_slots, v_amounts from held_slots(v_held) h;
  end if;

  select array_agg(distinct r.slot) into v_waiting
  from task t, unnest(t.rule_slots) r(slot) where t.id = any(v_merged) and (t.state + 0) = :pending;

  update task t set
    success_count = t.success_count + coalesce(x.new_success, 0),
    failure_count = t.failure_count + coalesce(x.new_failures, 0), exit_code = coalesce(x.exit_code, t.exit_code),
    metadata = case when x.metadata_patch is null then t.metadata else merge_patch(t.metadata, x.metadata_patch) end,
    slot_version = case when x.metadata_patch is null then t.slot_version else -1 end,
    updated_at = p_now,
    deadline_at = case when t.deadline_basis = :timeout_since_activity and t.deadline_at is not null
      then coalesce(t.paused_at, p_now) + t.timeout_secs * interval '1 second' else t.deadline_at end
  from jsonb_to_recordset(p_extras) as x(id uuid, metadata_patch jsonb, new_success bigint, new_failures bigint,
    exit_code smallint)
  join unnest(p_ids) u(id) on u.id = x.id
  where t.id = x.id;

  if v_merged is not null then
    delete from dedupe_entry where task_id = any(v_merged);
    perform add_dedupe_entries(v_merged);
  end if;
  if v_held is not null then
    if v_merged is not null then
      insert into slot (id, shape_id, key)
      select distinct on (n.id) n.id, n.shape_id, n.key from (
        select slot_of(s.id, s.type, s.fields, t.metadata) as id, s.id as shape_id, slot_key_of(s.fields, t.metadata) as key
        from task t join shape s on s.kind_id = t.kind_id where t.id = any(v_merged) and t.id = any(v_held)) n
      -- Touched, so that an idle slot is not deleted before it is counted up below.
      order by n.id on conflict (id) do update set key = excluded.key;
      update task t set slots = wanted_slots(t.kind_id, t.metadata)
      where t.id = any(v_merged) and t.id = any(v_held);
    end if;
    select v_slots || array_agg(h.slot),
      v_amounts || array_agg(-slot_amount(h.slot, t.expected_count, t.success_count, t.failure_count))
    into v_slots, v_amounts
    from task t, unnest(t.slots) h(slot) where t.id = any(v_held);
    select array_agg(n.slot), array_agg(n.amount) into v_slots, v_amounts from (
      select u.slot, sum(u.amount)::bigint as amount from unnest(v_slots, v_amounts) u(slot, amount)
      group by u.slot having sum(u.amount) <> 0) n;
  end if;
  -- A pending task may have been waiting for a slot that its metadata no longer names.
  return return_slots(v_slots || v_waiting,
    v_amounts || array_fill(0::bigint, array[coalesce(cardinality(v_waiting), 0)])) || make_ready(
    array(select t.id from task t where t.id = any(v_merged) and (t.state + 0) = :pending and t.rule_slots is not null),
      p_now);
end $$;

-- Updates without a change of state. Returns a code and a state for each, in order; codes, and `unredacted`, as in settle.
drop function if exists update_tasks(uuid[], integer[], jsonb, timestamptz);
create or replace function update_tasks(p_ids uuid[], p_attempts integer[], p_extras jsonb, p_redacted uuid[], p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_codes smallint[];
  v_states smallint[];
  v_accepted uuid[];
  v_lanes integer[] := '{}';
  v_workflows json;
  v_unredacted boolean;
begin
  with locked as (
    select t.id, t.state, t.attempt, t.workflow_id, t.secrets_sent and t.id <> all(p_redacted) as unredacted
    from task t where t.id = any(p_ids) order by t.id for no key update
  ), decided as (
    select r.ord, r.id, l.state, l.workflow_id, case when l.id is null then :result_not_found
      when r.attempt <> l.attempt then :result_stale_attempt
      when l.state >= :terminal then :result_conflict else :result_applied end::smallint as code
    from unnest(p_ids, p_attempts) with ordinality r(id, attempt, ord) left join locked l on l.id = r.id
  )
  select array_agg(d.code order by d.ord), array_agg(d.state order by d.ord),
    array_agg(d.id) filter (where d.code = :result_applied),
    (select json_agg(w.workflow_id)
      from (select distinct x.workflow_id from decided x where x.code = :result_applied limit 17) w),
    (select bool_or(l.unredacted) from locked l)
  into v_codes, v_states, v_accepted, v_workflows, v_unredacted from decided d;
  if v_unredacted then return json_build_object('unredacted', true); end if;
  if v_accepted is not null then
    v_lanes := apply_extras(v_accepted, p_extras, v_now);
  end if;
  return json_build_object('codes', v_codes, 'states', v_states, 'lanes', v_lanes, 'workflows', v_workflows);
end $$;

-- Counters of many tasks in one commit (distinct ids; a null attempt means the current one). Returns 0 applied,
-- 1 terminal, 2 not found, 3 stale attempt for each, in order.
create or replace function add_progress(p_ids uuid[], p_attempts integer[], p_success bigint[], p_failure bigint[],
  p_now timestamptz)
returns json language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_codes smallint[];
  v_accepted uuid[];
  v_success bigint[];
  v_failure bigint[];
  v_holders uuid[];
  v_slots bigint[];
  v_amounts bigint[];
  v_lanes integer[] := '{}';
  v_workflows json;
begin
  with locked as (
    select t.id, t.state, t.attempt, t.slots, t.workflow_id from task t
    where t.id = any(p_ids) order by t.id for no key update
  ), decided as (
    select r.ord, l.id, l.slots, r.s, r.f,
      case when l.id is null then :progress_not_found when r.attempt <> l.attempt then :progress_stale_attempt
        when l.state >= :terminal then :progress_ended else :progress_applied end::smallint as code
    from unnest(p_ids, p_attempts, p_success, p_failure) with ordinality r(id, attempt, s, f, ord)
    left join locked l on l.id = r.id
  )
  select array_agg(d.code order by d.ord), array_agg(d.id) filter (where d.code = :progress_applied),
    array_agg(d.s) filter (where d.code = :progress_applied), array_agg(d.f) filter (where d.code = :progress_applied),
    array_agg(d.id) filter (where d.code = :progress_applied and exists (select 1 from unnest(d.slots) s where s & 1 = 1)),
    (select json_agg(w.workflow_id) from (select distinct x.workflow_id from locked x limit 17) w)
  into v_codes, v_accepted, v_success, v_failure, v_holders, v_workflows
  from decided d;
  if v_holders is not null then
    select f.slots, f.amounts into v_slots, v_amounts
    from freed_by_progress(v_holders, v_accepted, v_success, v_failure) f;
  end if;
  update task t set success_count = t.success_count + u.s, failure_count = t.failure_count + u.f, updated_at = v_now,
    deadline_at = case when t.deadline_basis = :timeout_since_activity and t.deadline_at is not null
      then coalesce(t.paused_at, v_now) + t.timeout_secs * interval '1 second' else t.deadline_at end
  from unnest(v_accepted, v_success, v_failure) u(id, s, f)
  where t.id = u.id and (t.state + 0) < :terminal;
  if v_slots is not null then v_lanes := return_slots(v_slots, v_amounts); end if;
  return json_build_object('codes', v_codes, 'lanes', v_lanes, 'workflows', v_workflows);
end $$;
