import type { Queryable, Statement } from './database.ts';
import { numberArray, uuidArray } from './transitions.ts';

/** Notification channel of the outbox for external queues. */
export const OUTGOING_CHANNEL = 'heddle_queue_outgoing';

const INSERT: Statement = {
  name: 'queue_outbox.insert',
  text: `with written as (
      insert into queue_outgoing (queue, id, message_group, next_try_at, body, created_at)
      select $1, u.id, u.message_group, n.now + coalesce(u.delay_ms, 0) * interval '1 millisecond', u.body, n.now
      from unnest($2::uuid[], $3::text[], $4::bigint[], $5::text[]) with ordinality
          as u(id, message_group, delay_ms, body, ordinal),
        (select coalesce($6::timestamptz, clock_timestamp()) as now offset 0) n
      order by u.ordinal
      on conflict (queue, id) do nothing)
    select pg_notify('${OUTGOING_CHANNEL}', '')`,
};

const CLAIM: Statement = {
  name: 'queue_outbox.claim',
  text: `select position, queue, id, message_group, body, tries from claim_outgoing($1, $2, $3, $4) order by position`,
};

const DELETE: Statement = {
  name: 'queue_outbox.delete',
  text: `delete from queue_outgoing where position = any($1::bigint[])`,
};

const POSTPONE: Statement = {
  name: 'queue_outbox.postpone',
  text: `update queue_outgoing set next_try_at = coalesce($3::timestamptz, clock_timestamp()) + $2 * interval '1 millisecond'
    where position = any($1::bigint[])`,
};

const NEXT_DUE: Statement = {
  name: 'queue_outbox.next_due',
  text: `select extract(epoch from min(next_try_at) - coalesce($1::timestamptz, clock_timestamp()))::float8 * 1000 as due_in_ms
    from queue_outgoing`,
};

const SAVE_BODIES: Statement = {
  name: 'queue_bodies.save',
  text: `insert into queue_body (id, body, touched_at)
    select u.id, u.body, clock_timestamp() from unnest($1::uuid[], $2::text[]) as u(id, body)`,
};

const LOAD_BODIES: Statement = {
  name: 'queue_bodies.load',
  text: `update queue_body b set receipt = u.receipt, touched_at = clock_timestamp()
    from unnest($1::uuid[], $2::uuid[]) as u(id, receipt) where b.id = u.id
    returning b.id, b.body`,
};

const READ_BODIES: Statement = {
  name: 'queue_bodies.read',
  text: `select id, body from queue_body where id = any($1::uuid[])`,
};

const TOUCH_BODIES: Statement = {
  name: 'queue_bodies.touch',
  text: `update queue_body set touched_at = clock_timestamp() where id = any($1::uuid[])`,
};

const DELETE_BODIES: Statement = {
  name: 'queue_bodies.delete',
  text: `delete from queue_body b using unnest($1::uuid[], $2::uuid[]) as u(id, receipt)
    where b.id = u.id and b.receipt = u.receipt`,
};

const FORGET_BODIES: Statement = {
  name: 'queue_bodies.forget',
  text: `delete from queue_body where ctid = any(array(
    select ctid from queue_body where touched_at < clock_timestamp() - $1 * interval '1 millisecond'
    order by touched_at limit $2))
    returning 1`,
};

export interface OutgoingRow {
  position: number;
  queue: string;
  id: string;
  message_group: string | null;
  body: string;
  tries: number;
}

export interface NewOutgoingRow {
  id: string;
  group: string | null;
  delay_ms: number;
  body: string;
}

/** Writes messages to the outbox in order; relays are notified when the transaction commits. */
export async function insertOutgoing(
  queryable: Queryable,
  queue: string,
  messages: readonly NewOutgoingRow[],
  now: string | null,
): Promise<void> {
  await queryable.query(INSERT, [
    queue,
    uuidArray(messages.map(({ id }) => id)),
    messages.map(({ group }) => group),
    numberArray(messages.map((message) => Math.ceil(message.delay_ms))),
    messages.map(({ body }) => body),
    now,
  ]);
}

/** Claims due messages for one try, exclusively for `leaseMs`. */
export function claimOutgoing(
  queryable: Queryable,
  limits: { count: number; bytes: number; leaseMs: number },
  now: string | null,
): Promise<OutgoingRow[]> {
  return queryable.query<OutgoingRow>(CLAIM, [limits.count, limits.bytes, limits.leaseMs, now]);
}

export async function deleteOutgoing(queryable: Queryable, positions: readonly number[]): Promise<void> {
  await queryable.query(DELETE, [numberArray(positions)]);
}

export async function postponeOutgoing(
  queryable: Queryable,
  positions: readonly number[],
  delayMs: number,
  now: string | null,
): Promise<void> {
  await queryable.query(POSTPONE, [numberArray(positions), delayMs, now]);
}

/** Returns the milliseconds until the next outbox message is due, negative if overdue; null if there is none. */
export async function outgoingDueInMs(queryable: Queryable, now: string | null): Promise<number | null> {
  const [row] = await queryable.query<{ due_in_ms: number | null }>(NEXT_DUE, [now]);
  return row!.due_in_ms;
}

export async function saveBodies(queryable: Queryable, bodies: readonly { id: string; body: string }[]): Promise<void> {
  await queryable.query(SAVE_BODIES, [uuidArray(bodies.map(({ id }) => id)), bodies.map(({ body }) => body)]);
}

/** Delivery and its body. */
export interface BodyReceipt {
  id: string;
  receipt: string;
}

function bodyReceiptValues(receipts: readonly BodyReceipt[]): [string, string] {
  return [uuidArray(receipts.map(({ id }) => id)), uuidArray(receipts.map(({ receipt }) => receipt))];
}

/** Returns the bodies by id and assigns each to this delivery; missing ones are gone. */
export async function loadBodies(
  queryable: Queryable,
  receipts: readonly BodyReceipt[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await queryable.query<{ id: string; body: string }>(LOAD_BODIES, bodyReceiptValues(receipts));
  return new Map(rows.map(({ id, body }) => [id, body]));
}

/** Returns the bodies of dead letters by id, without assigning them. */
export async function readBodies(queryable: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await queryable.query<{ id: string; body: string }>(READ_BODIES, [uuidArray(ids)]);
  return new Map(rows.map(({ id, body }) => [id, body]));
}

export async function touchBodies(queryable: Queryable, ids: readonly string[]): Promise<void> {
  await queryable.query(TOUCH_BODIES, [uuidArray(ids)]);
}

/** Deletes those of the bodies that no later delivery has loaded. */
export async function deleteBodies(queryable: Queryable, receipts: readonly BodyReceipt[]): Promise<void> {
  await queryable.query(DELETE_BODIES, bodyReceiptValues(receipts));
}

/** Deletes bodies not used for this long; returns their number. */
export async function forgetBodies(queryable: Queryable, untouchedMs: number, limit: number): Promise<number> {
  return (await queryable.query(FORGET_BODIES, [untouchedMs, limit])).length;
}
