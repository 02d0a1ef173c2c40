-- Lists of rules that tasks share.
-- Locks: none but the rows it inserts.
-- Callers: store/kinds.ts; admit.

-- Returns the numbers of these lists of rules, which it adds; null for a new one if there are p_max already. p_lists:
-- [{list: as submitted, shapes, maxima}].
create or replace function rule_sets_of(p_lists jsonb, p_max integer)
returns integer[] language plpgsql as $$
declare
  v_room integer := p_max - (select count(*) from (select 1 from rule_set limit p_max) s);
begin
  insert into rule_set (digest, list, shapes, maxima)
  select digest_of(l.list), l.list, l.shapes, l.maxima
  from jsonb_to_recordset(p_lists) as l(list jsonb, shapes integer[], maxima bigint[])
  where not exists (select 1 from rule_set s where s.digest = digest_of(l.list))
  order by 1 limit v_room
  on conflict (digest) do nothing;
  return array(
    select s.id from jsonb_array_elements(p_lists) with ordinality l(value, ord)
    left join rule_set s on s.digest = digest_of(l.value -> 'list') order by l.ord);
end $$;

create or replace function digest_of(p_list jsonb)
returns bytea language sql immutable as $$
  select sha256(convert_to(p_list::text, 'UTF8'))
$$;

-- The shapes and limits of a task's own rules, in their order.
create or replace function rules_of(p_set integer, p_task uuid)
returns table (shape integer, max bigint, ord bigint) language sql stable as $$
  select r.shape, r.max, r.ord from rule_set s, unnest(s.shapes, s.maxima) with ordinality r(shape, max, ord)
  where s.id = p_set
  union all
  select (r.value ->> 0)::integer, (r.value ->> 1)::bigint, r.ord
  from task_spec sp, jsonb_array_elements(sp.rules -> 'shapes') with ordinality r(value, ord)
  where p_set is null and sp.task_id = p_task
$$;
