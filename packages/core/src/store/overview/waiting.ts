import type { JsonValue } from '@heddle/base/json';
import { numberArray } from '../transitions.ts';
import type { Queryable, Statement } from '../database.ts';
import { COUNT_CAP } from './counts.ts';
import { withCodes } from '../sql-names.ts';

const LANES_MAX = 200;
const SLOTS_MAX = 1_000;
const SLOT_TASKS_MAX = 100;

const LANES: Statement = { name: 'home.lanes', text: `select * from ready_lanes($1, $2)` };

const CLAIMERS: Statement = {
  name: 'home.claimers',
  text: `select l.lane, k.name as kind, max(c.heard_at) as last_seen,
      count(c.holder) filter (where c.heard_at > $2::timestamptz - $3 * interval '1 millisecond') as live
    from unnest($1::integer[]) l(lane) left join kind k on k.id = l.lane
    left join lane_claimers($1::integer[], $2::timestamptz) c on c.lane = l.lane
    group by l.lane, k.name`,
};

const SLOTS: Statement = {
  name: 'home.slots',
  text: `select s.*, s.slot_id::text as slot from contended_slots($1, $2, $3, null) s`,
};

const SLOT: Statement = {
  name: 'slots.contended',
  text: `select s.*, s.slot_id::text as slot from contended_slots(1, 1, $2, $1::text::bigint - 1) s
    where s.slot_id = $1::text::bigint`,
};

const WAITERS: Statement = {
  name: 'slots.waiters',
  text: withCodes(`select u.slot::text as slot, w.id, w.name from unnest($1::text[]::bigint[]) u(slot)
    cross join lateral (
      select t.id, t.name from (select b.rank, b.task_id from blocked b where b.slot_id = u.slot
        order by b.rank, b.task_id limit 5 * $2) b
      cross join lateral (select t.id, t.name from task t where t.id = b.task_id and (t.state + 0) = :pending offset 0) t
      order by b.rank, b.task_id limit $2) w`),
};

const SLOT_DETAILS: Statement = {
  name: 'home.slot_details',
  text: `select s.id::text as slot, sh.type, k.name as kind, sh.fields, s.key, s.used
    from slot s join shape sh on sh.id = s.shape_id join kind k on k.id = sh.kind_id
    where s.id = any($1::text[]::bigint[])`,
};

/** One pass over the open attempts, whatever the number of slots. */
const HOLDERS: Statement = {
  name: 'home.holders',
  text: withCodes(`select h.slot::text as slot, h.id, h.name, h.state, h.claimed_at, h.max from (
      select u.slot, t.id, t.name, t.state, t.claimed_at, t.rule_max[array_position(t.rule_slots, u.slot)] as max,
        row_number() over (partition by u.slot order by t.claimed_at, t.id) as place
      from (
        select t.id, t.name, t.state, t.claimed_at, t.slots, t.rule_slots, t.rule_max
        from (select l.id, unnest(l.task_ids) as task_id from (select id, task_ids from lease order by id limit 10000) l
          limit 20000) o
        cross join lateral (select t.id, t.name, t.state, t.claimed_at, t.slots, t.rule_slots, t.rule_max from task t
          where t.id = o.task_id and t.lease_id = o.id and t.slots is not null offset 0) t) t, unnest(t.slots) u(slot)
      where $1::text[] is null or u.slot = any($1::text[]::bigint[])) h
    where h.place <= 20`),
};

const RUNNERS: Statement = {
  name: 'home.runners',
  text: withCodes(`select s.resource_class, s.usage_class, w.n, w.since, w.reason, t.id as task_id, t.name,
      (select count(*) from runner r where r.shape_id = w.shape_id and r.state = :runner_created) as launching
    from (
      select q.shape_id, count(*) as n, min(q.created_at) as since, max(q.reason) as reason,
        (array_agg(q.task_id order by q.rank, q.id))[1] as task_id
      from (select shape_id, task_id, rank, id, created_at, reason from runner_request
        where state = :request_waiting and task_id is not null order by rank, id limit $1 + 1) q
      group by q.shape_id) w
    join runner_shape s on s.id = w.shape_id left join task t on t.id = w.task_id
    order by w.n desc limit 20`),
};

export interface LaneRow {
  lane: number;
  tasks: number;
  more: boolean;
  task_id: string;
  name: string;
  since: number;
}

export interface ClaimersRow {
  lane: number;
  /** Null for lanes that are not kinds. */
  kind: string | null;
  last_seen: number | null;
  live: number;
}

export interface ContendedSlotRow {
  slot: string;
  tasks: number;
  more: boolean;
  max: number;
  task_id: string;
  name: string;
  since: number;
}

export interface SlotDetailRow {
  slot: string;
  type: 1 | 2;
  kind: string;
  fields: string[];
  key: JsonValue[];
  used: number;
}

export interface HolderRow {
  slot: string;
  id: string;
  name: string;
  state: number;
  claimed_at: number | null;
  /** Limit by the holder's own rule; null if it has none for the slot. */
  max: number | null;
}

export interface RunnerWaitRow {
  resource_class: string;
  usage_class: number;
  n: number;
  since: number;
  reason: string | null;
  task_id: string | null;
  name: string | null;
  launching: number;
}

/** Returns the lanes with ready tasks, at most 200. */
export function findReadyLanes(queryable: Queryable): Promise<LaneRow[]> {
  return queryable.query(LANES, [LANES_MAX, COUNT_CAP]);
}

/** Returns who claims from these lanes; live ones were seen within `goneMs`. */
export function findClaimersOf(
  queryable: Queryable,
  lanes: readonly number[],
  now: number,
  goneMs: number,
): Promise<ClaimersRow[]> {
  return queryable.query(CLAIMERS, [numberArray(lanes), new Date(now).toISOString(), goneMs]);
}

/** Of the first 1,000 slots that tasks wait for returns those with the most tasks, each counted up to 100. */
export function findContendedSlots(queryable: Queryable, limit = SLOTS_MAX): Promise<ContendedSlotRow[]> {
  return queryable.query(SLOTS, [SLOTS_MAX, limit, SLOT_TASKS_MAX]);
}

/** Returns the slot, if tasks wait for it, with their number up to 10,000. */
export function findContendedSlot(queryable: Queryable, slot: string): Promise<ContendedSlotRow[]> {
  return queryable.query(SLOT, [slot, COUNT_CAP]);
}

/** Returns the first tasks that wait for each of these slots. */
export function findSlotWaiters(
  queryable: Queryable,
  slots: readonly string[],
  limit: number,
): Promise<{ slot: string; id: string; name: string }[]> {
  return queryable.query(WAITERS, [slots, limit]);
}

export function findSlotDetails(queryable: Queryable, slots: readonly string[]): Promise<SlotDetailRow[]> {
  return queryable.query(SLOT_DETAILS, [slots]);
}

/** Returns the first 20 open attempts that hold each of these slots, or of all slots. */
export function findSlotHolders(queryable: Queryable, slots: readonly string[] | null): Promise<HolderRow[]> {
  return queryable.query(HOLDERS, [slots]);
}

export function findRunnerWaits(queryable: Queryable): Promise<RunnerWaitRow[]> {
  return queryable.query(RUNNERS, [COUNT_CAP]);
}
