-- Assigns idle runners to several locked requests, at most p_limit of them, in queue order. Chosen runners are locked;
-- requests that lose a runner to another transaction choose again. o_open: requests that may have got nothing because
-- other transactions had locked their candidates.
create or replace function runner_match_many(p_requests uuid[], p_limit integer, p_now timestamptz, p_fresh timestamptz, p_times jsonb,
  out o_requests uuid[], out o_runners uuid[], out o_open uuid[])
language plpgsql as $$
declare
  v_busy uuid[] := '{}';
  v_requests uuid[];
  v_runners uuid[];
  v_locked uuid[];
  v_failed uuid[];
  v_served integer := 0;
begin
  o_requests := '{}';
  o_runners := '{}';
  o_open := p_requests;
  for v_round in 1 .. 8 loop
    select c.o_requests, c.o_runners into v_requests, v_runners
    from runner_choose(o_open, p_limit - v_served, v_busy, p_now, p_fresh, p_times) c;
    exit when cardinality(v_runners) = 0;
    v_locked := array(
      select r.id from runner r
      where r.id = any(v_runners) and r.state + 0 = :runner_idle and r.threshold > p_now and not r.draining
      order by r.id for no key update skip locked);
    if cardinality(v_locked) < cardinality(v_runners) then
      v_failed := array(
        select distinct u.request from unnest(v_requests, v_runners) u(request, runner)
        left join unnest(v_locked) l(id) on l.id = u.runner where l.id is null);
      v_busy := v_busy || array(select u.id from unnest(v_runners) u(id) except select l.id from unnest(v_locked) l(id));
    else
      v_failed := '{}';
    end if;
    select coalesce(array_agg(u.request), '{}'), coalesce(array_agg(u.runner), '{}') into v_requests, v_runners
    from (
      select u.request, u.runner from unnest(v_requests, v_runners) u(request, runner)
      left join unnest(v_failed) f(id) on f.id = u.request where f.id is null) u;
    o_requests := o_requests || v_requests;
    o_runners := o_runners || v_runners;
    o_open := array(
      select u.id from unnest(o_open) with ordinality u(id, ord)
      left join (select distinct g.id from unnest(o_requests) g(id)) g on g.id = u.id where g.id is null order by u.ord);
    v_served := cardinality(p_requests) - cardinality(o_open);
    exit when cardinality(v_failed) = 0 or cardinality(o_open) = 0 or v_served >= p_limit;
    v_busy := v_busy || o_runners;
  end loop;
  if cardinality(v_busy) = 0 then o_open := '{}'; end if;
end $$;

-- Makes one assignment without locks, from runners that are not in p_busy: each request gets the most recently used
-- runner that fits, and an earlier request moves to another type if that helps. Requests are counted by shape and
-- runners by type, so the cost does not grow with their product.
create or replace function runner_choose(p_requests uuid[], p_limit integer, p_busy uuid[], p_now timestamptz, p_fresh timestamptz, p_times jsonb,
  out o_requests uuid[], out o_runners uuid[])
language plpgsql as $$
declare
  v_patience constant timestamptz := p_now - (p_times ->> 'patience_ms')::double precision * interval '1 millisecond';
  -- Shapes and types are identified by their index in these arrays; by request: shape, count, whether it holds others
  -- back.
  v_shapes integer[];
  v_types integer[];
  v_shape_of integer[];
  v_counts integer[];
  v_ranks bigint[];
  v_strict boolean[];
  -- Types of shape s: v_fits[v_fit_from[s] .. v_fit_to[s]].
  v_fits integer[];
  v_fit_from integer[];
  v_fit_to integer[];
  -- Runners of type t start at v_first[t], most recently used first; v_left[t] are unassigned, from v_next[t] on.
  v_ids uuid[];
  v_since timestamptz[];
  v_supply integer[];
  v_left integer[];
  v_first integer[];
  v_next integer[];
  -- Number of runners of type t assigned to requests of shape s: v_given[(s - 1) * v_width + t].
  v_given integer[];
  v_served boolean[];
  v_hopeless boolean[];
  v_barred boolean[];
  v_bar_ranks bigint[];
  v_bar_ids uuid[];
  v_bars boolean;
  v_before integer[];
  v_before_left integer[];
  v_before_next integer[];
  -- Search for a request that can move: the type that each type was reached from, and by which shape.
  v_from integer[];
  v_via integer[];
  v_queue integer[];
  v_at integer;
  v_width integer;
  v_height integer;
  v_got integer;
  v_best integer;
  v_end integer;
  v_s integer;
  v_t integer;
  v_u integer;
begin
  o_requests := '{}';
  o_runners := '{}';
  select array_agg(distinct q.shape_id) into v_shapes from unnest(p_requests) u(id) join runner_request q on q.id = u.id;
  select array_agg(distinct f.type_id) into v_types from unnest(v_shapes) s(id) join runner_fit f on f.shape_id = s.id;
  if v_types is null then return; end if;
  v_height := cardinality(v_shapes);
  v_width := cardinality(v_types);
  select array_agg(array_position(v_shapes, q.shape_id) order by u.ord), array_agg(q.count - q.kept order by u.ord),
    array_agg(q.rank order by u.ord), array_agg(q.count - q.kept > 1 and q.created_at <= v_patience order by u.ord)
  into v_shape_of, v_counts, v_ranks, v_strict
  from unnest(p_requests) with ordinality u(id, ord) join runner_request q on q.id = u.id;
  select array_agg(array_position(v_types, f.type_id) order by s.ord, f.type_id) into v_fits
  from unnest(v_shapes) with ordinality s(id, ord) join runner_fit f on f.shape_id = s.id;
  select array_agg((n.upto - n.fits + 1)::integer order by n.ord), array_agg(n.upto::integer order by n.ord)
  into v_fit_from, v_fit_to
  from (
    select s.ord, count(f.type_id) as fits, sum(count(f.type_id)) over (order by s.ord) as upto
    from unnest(v_shapes) with ordinality s(id, ord) left join runner_fit f on f.shape_id = s.id group by s.ord) n;

  with wanted as (
    select t.ord, t.id, sum(w.wanted) as wanted
    from unnest(v_types) with ordinality t(id, ord)
    join runner_fit f on f.type_id = t.id
    join (
      select v_shapes[u.s] as shape_id, sum(u.n) as wanted from unnest(v_shape_of, v_counts) u(s, n) group by u.s) w
      on w.shape_id = f.shape_id
    group by t.ord, t.id
  ), found as materialized (
    select w.ord, c.id, c.state_since
    from wanted w cross join lateral (
      select r.id, r.state_since from runner r
      where r.type_id = w.id and r.state = :runner_idle and r.threshold > p_now and not r.draining
        and not exists (select 1 from unnest(p_busy) b(id) where b.id = r.id)
        and exists (select 1 from runner_pulse p where p.runner_id = r.id and p.seen_at > p_fresh)
      order by r.state_since desc limit w.wanted) c
  )
  select (select array_agg(f.id order by f.ord, f.state_since desc, f.id) from found f),
    (select array_agg(f.state_since order by f.ord, f.state_since desc, f.id) from found f),
    (select array_agg(n.n order by n.ord) from (
      select t.ord, (select count(*)::integer from found f where f.ord = t.ord) as n
      from unnest(v_types) with ordinality t(id, ord)) n)
  into v_ids, v_since, v_supply;
  if v_ids is null then return; end if;
  v_left := v_supply;
  v_first := array(select (1 + sum(u.n) over (order by u.ord) - u.n)::integer from unnest(v_supply) with ordinality u(n, ord));
  v_next := v_first;
  select bool_or(b.id is not null), array_agg(b.rank order by t.ord), array_agg(b.id order by t.ord)
  into v_bars, v_bar_ranks, v_bar_ids
  from runner_barriers(v_types, p_requests, p_now, p_times) g cross join unnest(v_types) with ordinality t(id, ord)
  left join unnest(g.o_types, g.o_ranks, g.o_ids) b(type_id, rank, id) on b.type_id = t.id;
  v_given := array_fill(0, array[v_width * v_height]);
  v_barred := array_fill(false, array[v_width]);
  v_hopeless := array_fill(false, array[v_height]);
  v_served := array_fill(false, array[cardinality(p_requests)]);

  for i in 1 .. cardinality(p_requests) loop
    v_s := v_shape_of[i];
    if v_bars then
      for k in 1 .. v_width loop
        if (v_bar_ranks[k], v_bar_ids[k]) < (v_ranks[i], p_requests[i]) then v_barred[k] := true; end if;
      end loop;
    end if;
    v_got := 0;
    if v_counts[i] > 1 then
      v_before := v_given;
      v_before_left := v_left;
      v_before_next := v_next;
      v_at := 0;
      for k in v_fit_from[v_s] .. v_fit_to[v_s] loop
        if not v_barred[v_fits[k]] then v_at := v_at + v_supply[v_fits[k]]; end if;
      end loop;
      if v_at < v_counts[i] then v_got := -1; end if;
    end if;
    while v_got >= 0 and v_got < v_counts[i] and not v_hopeless[v_s] loop
      v_best := null;
      for k in v_fit_from[v_s] .. v_fit_to[v_s] loop
        v_t := v_fits[k];
        if v_left[v_t] > 0 and not v_barred[v_t]
           and (v_best is null or v_since[v_next[v_t]] > v_since[v_next[v_best]]) then v_best := v_t; end if;
      end loop;
      v_end := v_best;
      if v_best is null then
        v_from := array_fill(0, array[v_width]);
        v_via := v_from;
        v_queue := '{}';
        for k in v_fit_from[v_s] .. v_fit_to[v_s] loop
          if not v_barred[v_fits[k]] then
            v_from[v_fits[k]] := -1;
            v_queue := v_queue || v_fits[k];
          end if;
        end loop;
        v_at := 0;
        <<search>>
        while v_at < cardinality(v_queue) loop
          v_at := v_at + 1;
          v_t := v_queue[v_at];
          for s in 1 .. v_height loop
            continue when v_given[(s - 1) * v_width + v_t] = 0;
            for k in v_fit_from[s] .. v_fit_to[s] loop
              v_u := v_fits[k];
              continue when v_from[v_u] <> 0 or v_barred[v_u];
              v_from[v_u] := v_t;
              v_via[v_u] := s;
              if v_left[v_u] > 0 then
                v_end := v_u;
                exit search;
              end if;
              v_queue := v_queue || v_u;
            end loop;
          end loop;
        end loop;
        exit when v_end is null;
        v_best := v_end;
        while v_from[v_best] > 0 loop
          v_t := v_from[v_best];
          v_u := (v_via[v_best] - 1) * v_width;
          v_given[v_u + v_t] := v_given[v_u + v_t] - 1;
          v_given[v_u + v_best] := v_given[v_u + v_best] + 1;
          v_best := v_t;
        end loop;
      end if;
      v_left[v_end] := v_left[v_end] - 1;
      v_next[v_end] := v_next[v_end] + 1;
      v_u := (v_s - 1) * v_width + v_best;
      v_given[v_u] := v_given[v_u] + 1;
      v_got := v_got + 1;
    end loop;
    if v_got = v_counts[i] then
      v_served[i] := true;
      p_limit := p_limit - 1;
      exit when p_limit = 0;
      continue;
    end if;
    -- If no request can move now, none can later.
    if v_got = 0 then v_hopeless[v_s] := true; end if;
    if v_counts[i] > 1 then
      v_given := v_before;
      v_left := v_before_left;
      v_next := v_before_next;
    end if;
    if v_strict[i] then
      for k in v_fit_from[v_s] .. v_fit_to[v_s] loop
        v_barred[v_fits[k]] := true;
      end loop;
    end if;
  end loop;

  v_next := v_first;
  for i in 1 .. cardinality(p_requests) loop
    continue when not v_served[i];
    v_s := v_shape_of[i];
    for n in 1 .. v_counts[i] loop
      v_best := null;
      for k in v_fit_from[v_s] .. v_fit_to[v_s] loop
        v_t := v_fits[k];
        if v_given[(v_s - 1) * v_width + v_t] > 0
           and (v_best is null or v_since[v_next[v_t]] > v_since[v_next[v_best]]) then v_best := v_t; end if;
      end loop;
      o_requests := o_requests || p_requests[i];
      o_runners := o_runners || v_ids[v_next[v_best]];
      v_next[v_best] := v_next[v_best] + 1;
      v_u := (v_s - 1) * v_width + v_best;
      v_given[v_u] := v_given[v_u] - 1;
    end loop;
  end loop;
end $$;
