-- Models of recon runs.
-- Locks: the target of the run.
-- Callers: store/models.ts, store/model-reads.ts.

-- Combines reports of one run on one member: lists are united, sorted, at most 1,000 elements; of other values the
-- greatest counts, so that their order makes no difference.
create or replace function combined_value(p_values jsonb[]) returns jsonb
language sql immutable as $$
  select case
    when bool_and(jsonb_typeof(v) = 'array') then coalesce((
      select jsonb_agg(u.element order by u.element) from (
        select distinct e as element from unnest(p_values) l, jsonb_array_elements(l) e order by e limit 1000) u), '[]')
    else coalesce((select x from unnest(p_values) x where jsonb_typeof(x) <> 'null' order by x desc limit 1), 'null')
  end
  from unnest(p_values) v
$$;

-- Whether a model's key, or a string or number anywhere in its data, contains a text, case-insensitively. The JSON as a
-- whole is searched first: most models do not contain it at all, and extracting values from JSON takes ten times as
-- long.
create or replace function model_contains(p_key text, p_data jsonb, p_text text) returns boolean
language plpgsql immutable parallel safe as $$
declare
  v_text text := lower(p_text);
  v_json text := to_json(v_text)::text;
begin
  if position(v_text in lower(p_key)) > 0 then return true; end if;
  if position(substr(v_json, 2, length(v_json) - 2) in lower(p_data::text)) = 0 then return false; end if;
  return exists (
    select 1 from jsonb_path_query(p_data, 'strict $.**') v
    where jsonb_typeof(v) in ('string', 'number') and position(v_text in lower(v #>> '{}')) > 0);
end $$;

-- Merges one page of a run. A row that the run has merged already is combined with the new data and compared again, so
-- that neither repeats nor the order of pages make a difference; one that a later run has seen, or found gone, is left
-- to that run.
create or replace function merge_models(p_run uuid, p_items jsonb) returns void
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_target integer;
  v_number integer;
  v_started timestamptz;
begin
  select r.target_id, r.number, r.started_at into v_target, v_number, v_started from recon.model_run r where r.id = p_run;
  -- One page of a target at a time: rows are read, judged and written.
  perform 1 from recon.model_target t where t.id = v_target for update;
  insert into recon.models as m (id, target_id, model, key, data, state, first_run, last_run, changed_run, runs,
    first_seen, last_seen, changed_at, previous, held)
  with given as materialized (
    select g.id, g.model, g.key collate "C" as key, g.data
    from jsonb_to_recordset(p_items) g(id uuid, model text, key text, data jsonb)
  ), found as materialized (
    select n.id as new_id, n.model, n.key, n.data as given_data, o.data, o.state, o.first_run, o.last_run, o.changed_run,
      o.gone_run, o.runs, o.first_seen, o.changed_at, o.previous, o.held
    from (select distinct on (g.model, g.key) g.* from given g order by g.model, g.key) n
    left join recon.models o on o.target_id = v_target and o.model = n.model and o.key = n.key
  ), parts as materialized (
    select g.model, g.key, g.data from given g
    union
    select f.model, f.key, f.data from found f where f.last_run = v_number
  ), several as (
    select p.model, p.key from parts p group by p.model, p.key having count(*) > 1
  ), united as (
    select v.model, v.key, jsonb_object_agg(v.member, v.value) as data from (
      select p.model, p.key, e.key as member, combined_value(array_agg(e.value)) as value
      from several s join parts p on p.model = s.model and p.key = s.key, jsonb_each(p.data) e
      group by p.model, p.key, e.key) v
    group by v.model, v.key
  ), judged as (
    select f.*, coalesce(u.data, f.given_data) as now_data, f.last_run is null as is_first,
      coalesce(f.last_run = v_number, false) as is_again,
      -- The state before this run.
      case when f.last_run = v_number and f.changed_run = v_number then f.previous else f.data end as base
    from found f left join united u on u.model = f.model and u.key = f.key
  ), states as (
    select j.*,
      case when j.is_first or j.state = 'gone' or (j.is_again and j.state = 'new') then 'new'
        when j.now_data = j.base then 'known' else 'changed' end as now_state
    from judged j
    where j.is_first or (j.last_run < v_number and coalesce(j.gone_run < v_number, true))
      or (j.is_again and j.state <> 'gone' and j.now_data <> j.data)
  )
  select s.new_id, v_target, s.model, s.key, s.now_data, s.now_state, coalesce(s.first_run, v_number), v_number,
    case when s.now_state <> 'known' then v_number when s.changed_run = v_number then (s.held->>'run')::integer
      else s.changed_run end,
    coalesce(s.runs, 0) + (not s.is_again)::integer, coalesce(s.first_seen, v_started), v_started,
    case when s.now_state <> 'known' then v_started when s.changed_run = v_number then (s.held->>'at')::timestamptz
      else s.changed_at end,
    case when s.now_state <> 'known' then s.base when s.changed_run = v_number then nullif(s.held->'previous', 'null')
      else s.previous end,
    case when s.now_state <> 'changed' then null when s.changed_run = v_number then s.held
      else jsonb_build_object('run', s.changed_run, 'at', s.changed_at, 'previous', s.previous) end
  from states s
  order by s.model, s.key
  on conflict (target_id, model, key) do update set
    data = excluded.data,
    state = excluded.state,
    last_run = excluded.last_run,
    changed_run = excluded.changed_run,
    gone_run = null,
    runs = excluded.runs,
    last_seen = excluded.last_seen,
    changed_at = excluded.changed_at,
    gone_at = null,
    previous = excluded.previous,
    held = excluded.held;
end $$;
