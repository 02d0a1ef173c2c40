import type { JsonValue } from '@heddle/base/json';
import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';

const OPEN_PARENTS: Statement = {
  name: 'explain.open_parents',
  text: withCodes(`select p.id, p.name, p.state, e.requires_success, count(*) over () as total
    from edge e join task_all p on p.id = e.parent_id
    where e.child_id = $1 and case when e.crosses then not e.relayed else p.state < :terminal end
    order by p.id limit 20`),
};

const RULES: Statement = {
  name: 'explain.rules',
  text: `select sh.type, k.name as kind, sh.fields, coalesce(sl.key, slot_key_of(sh.fields, t.metadata)) as key,
      coalesce(sl.used, 0) as used, r.max, n.slot::text as slot
    from task t cross join rules_of(t.rule_set_id, t.id) r join shape sh on sh.id = r.shape join kind k on k.id = sh.kind_id
    cross join lateral (select slot_of(sh.id, sh.type, sh.fields, t.metadata) as slot) n
    left join slot sl on sl.id = n.slot
    where t.id = $1`,
};

const HOLDERS: Statement = {
  name: 'explain.holders',
  text: `select t.id, t.name, t.state
    from lease l cross join unnest(l.task_ids) u(id)
    cross join lateral (select t.id, t.name, t.state from task t
      where t.id = u.id and t.lease_id = l.id and $1::text::bigint = any(t.slots) offset 0) t
    order by t.id limit 10`,
};

const LAST_CLAIMER: Statement = {
  name: 'explain.last_claimer',
  text: `select max(c.heard_at) as heard_at from task t
    cross join lane_claimers(array[lane_of(t.starts_by_webhook, t.needs_runner, t.kind_id)], $2::timestamptz) c
    where t.id = $1`,
};

const AHEAD: Statement = {
  name: 'explain.ahead',
  text: `select count(*) as n from (
    select 1 from task t join ready r on r.lane = lane_of(t.starts_by_webhook, t.needs_runner, t.kind_id)
      and (r.rank, r.task_id) < (-t.priority, t.id)
    where t.id = $1 limit 10000) x`,
};

const START_DELIVERY: Statement = {
  name: 'explain.start_delivery',
  text: `select d.tries, d.last_error, d.next_try_at from delivery d join task t on t.id = d.task_id
    where d.task_id = $1 and d.trigger = 'start' and d.attempt = t.attempt and d.state = 'due'`,
};

const PAUSED_SINCE: Statement = { name: 'explain.paused_since', text: `select paused_at from task where id = $1` };

/** Walks from a node up to the first open container, where earlier siblings must end first. */
const turnOf = (name: string, start: string): Statement => ({
  name,
  text: withCodes(`with recursive up as (
      ${start}
      union all
      select c.parent_id, c.position, up.height + 1 from up join container c on c.id = up.container_id
      where c.state = :waiting and c.parent_id is not null)
    select c.id, c.local_id, c.state, array(
        select s.name from (
          select t.position, coalesce(t.local_id, t.name) as name from task t
            where t.container_id = c.id and t.position < up.position and t.state < :terminal
          union all
          select n.position, coalesce(n.local_id, n.id::text) from container n
            where n.parent_id = c.id and n.position < up.position and n.state < :terminal
          order by position limit 20) s) as before
    from up join container c on c.id = up.container_id order by up.height desc limit 1`),
});

const TURN = turnOf(
  'explain.turn',
  'select t.container_id, t.position, 0 as height from task t where t.id = $1 and t.sealed',
);
const CONTAINER_TURN = turnOf(
  'explain.container_turn',
  `select c.parent_id as container_id, c.position, 0 as height from container c
      where c.id = $1 and c.state = :waiting and c.parent_id is not null`,
);

const RUNNING: Statement = {
  name: 'explain.running',
  text: withCodes(`select l.holder, t.updated_at as heard_at,
      least(t.deadline_at, t.updated_at + l.lease_ms * interval '1 millisecond') as until
    from task t join lease l on l.id = t.lease_id where t.id = $1 and t.state = :running`),
};

const OPEN_CHILDREN: Statement = {
  name: 'explain.open_children',
  text: withCodes(`select * from (
      (select t.id, coalesce(t.local_id, t.name) as name, t.state, false as is_container, t.position from task t
        where t.container_id = $1 and (t.state + 0) < :terminal order by t.position limit $2)
      union all
      (select c.id, coalesce(c.local_id, c.id::text), c.state, true, c.position from container c
        where c.parent_id = $1 and (c.state + 0) < :terminal order by c.position limit $2)) x
    order by position limit $2`),
};

const OPEN_GENERATORS: Statement = {
  name: 'explain.open_generators',
  text: `select t.id, coalesce(t.local_id, t.name) as name, t.state, count(*) over () as total
    from container_generator f join task t on t.id = f.task_id
    where f.container_id = $1 and not f.done order by t.id limit $2`,
};

export interface TurnRow {
  id: string;
  local_id: string | null;
  state: number;
  /** Preceding nodes that have not ended, at most 20 names. */
  before: string[];
}

/** When a running attempt is requeued without another heartbeat: its lease, or its task's deadline before that. */
export async function findRunning(
  queryable: Queryable,
  id: string,
): Promise<{ holder: string; heard_at: number; until: number | null } | null> {
  const [row] = await queryable.query<{ holder: string; heard_at: number; until: number | null }>(RUNNING, [id]);
  return row ?? null;
}

/** Returns what a task waits for in its container; null if nothing. */
export async function findTurn(queryable: Queryable, id: string): Promise<TurnRow | null> {
  return (await queryable.query<TurnRow>(TURN, [id]))[0] ?? null;
}

/** Returns what a container waits for; null if nothing. */
export async function findTurnOfContainer(queryable: Queryable, id: string): Promise<TurnRow | null> {
  return (await queryable.query<TurnRow>(CONTAINER_TURN, [id]))[0] ?? null;
}

export interface OpenChildRow {
  id: string;
  name: string;
  state: number;
  is_container: boolean;
}

/** Returns the first open children of a container, by position. */
export function findOpenChildren(queryable: Queryable, id: string, limit: number): Promise<OpenChildRow[]> {
  return queryable.query(OPEN_CHILDREN, [id, limit]);
}

/** Returns generators elsewhere that may still add children to a container; each row has their total number. */
export function findOpenGenerators(
  queryable: Queryable,
  id: string,
  limit: number,
): Promise<{ id: string; name: string; state: number; total: number }[]> {
  return queryable.query(OPEN_GENERATORS, [id, limit]);
}

export function findOpenParents(
  queryable: Queryable,
  id: string,
): Promise<{ id: string; name: string; state: number; requires_success: boolean; total: number }[]> {
  return queryable.query(OPEN_PARENTS, [id]);
}

export interface RuleRow {
  type: 1 | 2;
  kind: string;
  fields: string[];
  key: JsonValue[];
  used: number;
  max: number;
  slot: string;
}

export function findRules(queryable: Queryable, id: string): Promise<RuleRow[]> {
  return queryable.query(RULES, [id]);
}

export function findHolders(
  queryable: Queryable,
  slot: string,
): Promise<{ id: string; name: string; state: number }[]> {
  return queryable.query(HOLDERS, [slot]);
}

export async function findLastClaimer(queryable: Queryable, id: string, now: string | null): Promise<number | null> {
  return (await queryable.query<{ heard_at: number | null }>(LAST_CLAIMER, [id, now]))[0]?.heard_at ?? null;
}

/** Counts ready tasks of the same lane that come first, up to 10,000. */
export async function countAhead(queryable: Queryable, id: string): Promise<number> {
  return (await queryable.query<{ n: number }>(AHEAD, [id]))[0]!.n;
}

export async function findStartDelivery(
  queryable: Queryable,
  id: string,
): Promise<{ tries: number; last_error: string | null; next_try_at: number | null } | null> {
  return (
    (
      await queryable.query<{ tries: number; last_error: string | null; next_try_at: number | null }>(START_DELIVERY, [
        id,
      ])
    )[0] ?? null
  );
}

export async function findPausedSince(queryable: Queryable, id: string): Promise<number | null> {
  return (await queryable.query<{ paused_at: number | null }>(PAUSED_SINCE, [id]))[0]?.paused_at ?? null;
}
