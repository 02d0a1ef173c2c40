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
  v_market runner_market := runner_supply(p_requests, p_busy, p_now, p_fresh, p_times);
  v_given integer[];
  v_served boolean[];
begin
  o_requests := '{}';
  o_runners := '{}';
  if v_market.ids is null then return; end if;
  select a.o_given, a.o_served into v_given, v_served from runner_assign(v_market, p_requests, p_limit, p_now, p_times) a;
  select g.o_requests, g.o_runners into o_requests, o_runners
  from runner_pick_served(v_market, p_requests, v_given, v_served) g;
end $$;

-- Reads the requests and the idle runners that fit them; without ids if there are none.
create or replace function runner_supply(p_requests uuid[], p_busy uuid[], p_now timestamptz, p_fresh timestamptz, p_times jsonb)
returns runner_market language plpgsql as $$
declare
  v_patience constant timestamptz := p_now - (p_times ->> 'reserve_after_ms')::double precision * interval '1 millisecond';
  v_shapes integer[];
  v_market runner_market;
begin
  select array_agg(distinct q.shape_id) into v_shapes from unnest(p_requests) u(id) join runner_request q on q.id = u.id;
  select array_agg(distinct f.type_id) into v_market.types from unnest(v_shapes) s(id) join runner_fit f on f.shape_id = s.id;
  if v_market.types is null then return null; end if;
  select array_agg(array_position(v_shapes, q.shape_id) order by u.ord), array_agg(q.count - q.kept order by u.ord),
    array_agg(q.rank order by u.ord), array_agg(q.count - q.kept > 1 and q.created_at <= v_patience order by u.ord)
  into v_market.shape_of, v_market.counts, v_market.ranks, v_market.holds_back
  from unnest(p_requests) with ordinality u(id, ord) join runner_request q on q.id = u.id;
  select array_agg(array_position(v_market.types, f.type_id) order by s.ord, f.type_id) into v_market.fits
  from unnest(v_shapes) with ordinality s(id, ord) join runner_fit f on f.shape_id = s.id;
  select array_agg((n.upto - n.fits + 1)::integer order by n.ord), array_agg(n.upto::integer order by n.ord)
  into v_market.fit_from, v_market.fit_to
  from (
    select s.ord, count(f.type_id) as fits, sum(count(f.type_id)) over (order by s.ord) as upto
    from unnest(v_shapes) with ordinality s(id, ord) left join runner_fit f on f.shape_id = s.id group by s.ord) n;

  with wanted as (
    select t.ord, t.id, sum(w.wanted) as wanted
    from unnest(v_market.types) with ordinality t(id, ord)
    join runner_fit f on f.type_id = t.id
    join (
      select v_shapes[u.s] as shape_id, sum(u.n) as wanted from unnest(v_market.shape_of, v_market.counts) u(s, n) group by u.s) w
      on w.shape_id = f.shape_id
    group by t.ord, t.id
  ), found as materialized (
    select w.ord, c.id, c.state_since
    from wanted w cross join lateral (
      select r.id, r.state_since from runner r
      where r.type_id = w.id and r.state = :runner_idle and r.threshold > p_now and not r.draining
        and not exists (select 1 from unnest(p_busy) b(id) where b.id = r.id)
        and exists (select 1 from runner_heartbeat p where p.runner_id = r.id and p.seen_at > p_fresh)
      order by r.state_since desc limit w.wanted) c
  )
  select (select array_agg(f.id order by f.ord, f.state_since desc, f.id) from found f),
    (select array_agg(f.state_since order by f.ord, f.state_since desc, f.id) from found f),
    (select array_agg(n.n order by n.ord) from (
      select t.ord, (select count(*)::integer from found f where f.ord = t.ord) as n
      from unnest(v_market.types) with ordinality t(id, ord)) n)
  into v_market.ids, v_market.since, v_market.supply;
  v_market.starts := array(
    select (1 + sum(u.n) over (order by u.ord) - u.n)::integer from unnest(v_market.supply) with ordinality u(n, ord));
  return v_market;
end $$;

-- Decides which requests are served, and by how many runners of which types: o_given[(s - 1) * number of types + t]
-- runners of type t for requests of shape s. v_left[t] runners of type t are unassigned, from v_next[t] on. Its arrays are
-- variables of its own, since to assign an element of an array in a composite value is to copy the array.
create or replace function runner_assign(p_market runner_market, p_requests uuid[], p_limit integer, p_now timestamptz, p_times jsonb,
  out o_given integer[], out o_served boolean[])
language plpgsql as $$
declare
  v_fits integer[] := p_market.fits;
  v_fit_from integer[] := p_market.fit_from;
  v_fit_to integer[] := p_market.fit_to;
  v_since timestamptz[] := p_market.since;
  v_left integer[] := p_market.supply;
  v_next integer[] := p_market.starts;
  v_width constant integer := cardinality(p_market.types);
  v_bars runner_bars := runner_bars_of(p_market.types, p_requests, p_now, p_times);
  v_barred boolean[] := array_fill(false, array[v_width]);
  v_hopeless boolean[] := array_fill(false, array[cardinality(v_fit_from)]);
  v_before record;
  v_types integer[];
  v_path integer[];
  v_count integer;
  v_got integer;
  v_best integer;
  v_s integer;
  v_t integer;
  v_u integer;
begin
  o_given := array_fill(0, array[v_width * cardinality(v_fit_from)]);
  o_served := array_fill(false, array[cardinality(p_requests)]);
  for i in 1 .. cardinality(p_requests) loop
    v_s := p_market.shape_of[i];
    v_count := p_market.counts[i];
    v_types := v_fits[v_fit_from[v_s]:v_fit_to[v_s]];
    for k in 1 .. coalesce(cardinality(v_bars.ranks), 0) loop
      if (v_bars.ranks[k], v_bars.ids[k]) < (p_market.ranks[i], p_requests[i]) then v_barred[k] := true; end if;
    end loop;
    v_got := 0;
    if v_count > 1 then
      v_before := row(o_given, v_left, v_next);
      v_got := (select case when sum(p_market.supply[u.t]) >= v_count then 0 else -1 end
        from unnest(v_types) u(t) where not v_barred[u.t]);
    end if;
    while v_got >= 0 and v_got < v_count and not v_hopeless[v_s] loop
      v_best := null;
      foreach v_t in array v_types loop
        if v_left[v_t] > 0 and not v_barred[v_t]
           and (v_best is null or v_since[v_next[v_t]] > v_since[v_next[v_best]]) then v_best := v_t; end if;
      end loop;
      v_t := v_best;
      if v_best is null then
        v_path := runner_path(v_types, v_fits, v_fit_from, v_fit_to, o_given, v_left, v_barred);
        exit when v_path is null;
        v_t := v_path[1];
        v_best := v_path[2];
        for n in 2 .. cardinality(v_path) / 2 loop
          o_given[v_path[2 * n - 1]] := o_given[v_path[2 * n - 1]] - 1;
          o_given[v_path[2 * n]] := o_given[v_path[2 * n]] + 1;
        end loop;
      end if;
      v_left[v_t] := v_left[v_t] - 1;
      v_next[v_t] := v_next[v_t] + 1;
      v_u := (v_s - 1) * v_width + v_best;
      o_given[v_u] := o_given[v_u] + 1;
      v_got := v_got + 1;
    end loop;
    o_served[i] := v_got = v_count;
    p_limit := p_limit - o_served[i]::integer;
    exit when p_limit = 0;
    continue when o_served[i];
    -- If no request can move now, none can later.
    if v_got = 0 then v_hopeless[v_s] := true; end if;
    if v_count > 1 then
      o_given := v_before.f1;
      v_left := v_before.f2;
      v_next := v_before.f3;
    end if;
    continue when not p_market.holds_back[i];
    foreach v_t in array v_types loop
      v_barred[v_t] := true;
    end loop;
  end loop;
end $$;

-- Finds how a runner can become free for a request of these types, if requests move from type to type. Returns [the type
-- that gives up a runner, the one of p_types that becomes free, then the elements of p_given that become one less and one
-- more, in turn]; null if there is no such path.
create or replace function runner_path(p_types integer[], p_fits integer[], p_fit_from integer[], p_fit_to integer[],
  p_given integer[], p_left integer[], p_barred boolean[])
returns integer[] language plpgsql as $$
declare
  v_width constant integer := cardinality(p_left);
  -- The type that each type was reached from, and by which shape.
  v_from integer[] := array_fill(0, array[v_width]);
  v_via integer[] := v_from;
  v_queue integer[] := '{}';
  v_moves integer[] := '{}';
  v_end integer;
  v_at integer := 0;
  v_t integer;
  v_u integer;
begin
  foreach v_t in array p_types loop
    if not p_barred[v_t] then
      v_from[v_t] := -1;
      v_queue := v_queue || v_t;
    end if;
  end loop;
  while v_at < cardinality(v_queue) loop
    v_at := v_at + 1;
    v_t := v_queue[v_at];
    for s in 1 .. cardinality(p_fit_from) loop
      continue when p_given[(s - 1) * v_width + v_t] = 0;
      for k in p_fit_from[s] .. p_fit_to[s] loop
        v_u := p_fits[k];
        continue when v_from[v_u] <> 0 or p_barred[v_u];
        v_from[v_u] := v_t;
        v_via[v_u] := s;
        if p_left[v_u] > 0 then
          v_end := v_u;
          while v_from[v_u] > 0 loop
            v_moves := v_moves || ((v_via[v_u] - 1) * v_width + v_from[v_u]) || ((v_via[v_u] - 1) * v_width + v_u);
            v_u := v_from[v_u];
          end loop;
          return array[v_end, v_u] || v_moves;
        end if;
        v_queue := v_queue || v_u;
      end loop;
    end loop;
  end loop;
  return null;
end $$;

-- The barriers of these types, in their order; empty if there are none.
create or replace function runner_bars_of(p_types integer[], p_requests uuid[], p_now timestamptz, p_times jsonb)
returns runner_bars language plpgsql as $$
declare
  v_bars runner_bars;
begin
  select array_agg(b.rank order by t.ord), array_agg(b.id order by t.ord) into v_bars
  from runner_barriers(p_types, p_requests, p_now, p_times) g
  cross join unnest(p_types) with ordinality t(id, ord)
  left join unnest(g.o_types, g.o_ranks, g.o_ids) b(type_id, rank, id) on b.type_id = t.id
  having bool_or(b.id is not null);
  return v_bars;
end $$;

-- Picks the runners of served requests, the most recently used first.
create or replace function runner_pick_served(p_market runner_market, p_requests uuid[], p_given integer[], p_served boolean[],
  out o_requests uuid[], out o_runners uuid[])
language plpgsql as $$
declare
  v_fits integer[] := p_market.fits;
  v_since timestamptz[] := p_market.since;
  v_ids uuid[] := p_market.ids;
  v_next integer[] := p_market.starts;
  v_width constant integer := cardinality(p_market.types);
  v_best integer;
  v_s integer;
  v_t integer;
  v_u integer;
begin
  o_requests := '{}';
  o_runners := '{}';
  for i in 1 .. cardinality(p_requests) loop
    continue when not p_served[i];
    v_s := p_market.shape_of[i];
    for n in 1 .. p_market.counts[i] loop
      v_best := null;
      for k in p_market.fit_from[v_s] .. p_market.fit_to[v_s] loop
        v_t := v_fits[k];
        if p_given[(v_s - 1) * v_width + v_t] > 0
           and (v_best is null or v_since[v_next[v_t]] > v_since[v_next[v_best]]) then v_best := v_t; end if;
      end loop;
      o_requests := o_requests || p_requests[i];
      o_runners := o_runners || v_ids[v_next[v_best]];
      v_next[v_best] := v_next[v_best] + 1;
      v_u := (v_s - 1) * v_width + v_best;
      p_given[v_u] := p_given[v_u] - 1;
    end loop;
  end loop;
end $$;
