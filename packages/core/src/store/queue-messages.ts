import type { Queryable, Statement } from './database.ts';
import { numberArray, uuidArray } from './transitions.ts';

/** Notification channel with the names of queues that have new messages, as a JSON array. */
export const QUEUE_CHANNEL = 'heddle_queue';

const INSERT = `insert into queue_message (queue, id, visible_at, sent_at, body)
    select $1, u.id, n.now + coalesce(u.delay_ms, 0) * interval '1 millisecond', n.now, u.body
    from unnest($2::uuid[], $3::bigint[], $4::text[]) as u(id, delay_ms, body),
      (select coalesce($5::timestamptz, clock_timestamp()) as now offset 0) n
    on conflict (queue, id) do nothing`;

const SEND: Statement = { name: 'queues.send', text: INSERT };

/** PostgreSQL delivers a notification on commit, and equal ones of a transaction once. */
const SEND_AND_NOTIFY: Statement = {
  name: 'queues.send_and_notify',
  text: `with sent as (${INSERT}) select pg_notify('${QUEUE_CHANNEL}', json_build_array($1::text)::text)`,
};

const NOTIFY: Statement = { name: 'queues.notify', text: `select pg_notify('${QUEUE_CHANNEL}', $1)` };

const COUNT_LISTENERS: Statement = {
  name: 'queues.count_listeners',
  text: `select count(*) as n from pg_stat_activity
    where datname = current_database() and application_name like 'heddle%listen%'`,
};

const RECEIVE: Statement = {
  name: 'queues.receive',
  text: `select id, receipt, receive_count, sent_at, body, mark, seen_at
    from receive_messages($1, $2, $3, $4, $5, $6, $7)`,
};

const DELETE: Statement = { name: 'queues.delete', text: `select delete_messages($1, $2, $3) as n` };
const HIDE: Statement = { name: 'queues.hide', text: `select hide_messages($1, $2, $3, $4, $5, $6) as n` };
const DEAD_LETTER: Statement = {
  name: 'queues.dead_letter',
  text: `select dead_letter_messages($1, $2, $3, $4, $5) as n`,
};
const REDRIVE: Statement = { name: 'queues.redrive', text: `select redrive_messages($1, $2, $3, $4) as n` };

const LIST_DEAD: Statement = {
  name: 'queues.list_dead',
  text: `select id, queue, body, reason, receive_count, sent_at, dead_lettered_at from queue_dead
    where $1::text is null or queue = $1
    order by dead_lettered_at, id limit $2 offset $3`,
};

const NOTE_DEAD: Statement = {
  name: 'queues.note_dead',
  text: `insert into queue_dead (queue, id, reason, receive_count, sent_at, dead_lettered_at, body)
    select $1, l.id, l.reason, l.receive_count, to_timestamp(l.sent_at / 1000), clock_timestamp(), ''
    from jsonb_to_recordset($2::jsonb) as l(id uuid, reason text, receive_count integer, sent_at double precision)
    order by l.id on conflict (queue, id) do nothing`,
};

const FORGET_DEAD: Statement = {
  name: 'queues.forget_dead',
  text: `delete from queue_dead where ctid = any(array(
    select ctid from queue_dead
    where dead_lettered_at < coalesce($3::timestamptz, clock_timestamp()) - $1 * interval '1 millisecond'
    order by dead_lettered_at limit $2))
    returning 1`,
};

const DEPTH: Statement = {
  name: 'queues.depth',
  text: `select count(*) filter (where m.visible_at <= n.now) as visible,
      count(*) filter (where m.visible_at > n.now and m.receipt is not null) as in_flight,
      count(*) filter (where m.visible_at > n.now and m.receipt is null) as delayed,
      (select count(*) from queue_dead d where d.queue = $1) as dead
    from (select coalesce($2::timestamptz, clock_timestamp()) as now offset 0) n
    left join queue_message m on m.queue = $1`,
};

export interface NewMessageRow {
  id: string;
  delay_ms: number;
  body: string;
}

/** Delivered message; `mark` is when the last of its set was due, `seen_at` the time of the scan. */
export interface MessageRow {
  id: string;
  receipt: number;
  receive_count: number;
  sent_at: number;
  body: string;
  mark: number;
  seen_at: number;
}

/** Nothing was delivered: `receive_count` messages were dead-lettered, and the next one is due at `mark`. */
interface NothingRow {
  id: null;
  receive_count: number;
  mark: number | null;
  seen_at: number;
}

export interface Taken {
  rows: MessageRow[];
  /** Number of messages dead-lettered instead of delivered; known if nothing was delivered. */
  died: number;
  /** When the next message is due; null if there is none, or if rows were delivered. */
  next_due_in_ms: number | null;
  /** Milliseconds since the epoch by the database's clock: messages due before then were scanned. */
  looked_until: number;
}

export interface DeadRow {
  id: string;
  queue: string;
  body: string;
  reason: string;
  receive_count: number;
  sent_at: number;
  dead_lettered_at: number;
}

function newMessageValues(queue: string, messages: readonly NewMessageRow[], now: string | null): unknown[] {
  const delayed = messages.some((message) => message.delay_ms > 0);
  return [
    queue,
    uuidArray(messages.map((message) => message.id)),
    delayed ? numberArray(messages.map((message) => Math.ceil(message.delay_ms))) : null,
    messages.map((message) => message.body),
    now,
  ];
}

/** Records, without bodies, that messages of another queue service were dead-lettered there. */
export async function noteDeadLetters(
  queryable: Queryable,
  queue: string,
  letters: readonly Pick<DeadRow, 'id' | 'reason' | 'receive_count' | 'sent_at'>[],
): Promise<void> {
  await queryable.query(NOTE_DEAD, [queue, JSON.stringify(letters)]);
}

/** Stores messages; drops those whose id the queue already has. */
export async function insertMessages(
  queryable: Queryable,
  queue: string,
  messages: readonly NewMessageRow[],
  now: string | null,
): Promise<void> {
  await queryable.query(SEND, newMessageValues(queue, messages, now));
}

/** Stores messages and notifies all listeners when the transaction commits. */
export async function insertMessagesAndNotify(
  queryable: Queryable,
  queue: string,
  messages: readonly NewMessageRow[],
  now: string | null,
): Promise<void> {
  await queryable.query(SEND_AND_NOTIFY, newMessageValues(queue, messages, now));
}

export async function notifyQueues(queryable: Queryable, queues: readonly string[]): Promise<void> {
  await queryable.query(NOTIFY, [JSON.stringify(queues)]);
}

/** Counts the sessions that listen to this database on behalf of Heddle, this process's own included. */
export async function countListeners(queryable: Queryable): Promise<number> {
  const [row] = await queryable.query<{ n: number }>(COUNT_LISTENERS);
  return row!.n;
}

export interface Take {
  queue: string;
  max: number;
  visibilityMs: number;
  maxReceives: number;
  bytes: number;
  /** Skips messages due earlier (milliseconds since the epoch); null: scans all. */
  fromMs: number | null;
}

export async function takeMessages(queryable: Queryable, take: Take, now: string | null): Promise<Taken> {
  const rows = await queryable.query<MessageRow | NothingRow>(RECEIVE, [
    take.queue,
    take.max,
    Math.ceil(take.visibilityMs),
    take.maxReceives,
    take.bytes,
    take.fromMs,
    now,
  ]);
  const [first] = rows;
  if (first?.id === null) {
    const nextDueInMs = first.mark === null ? null : Math.max(1, Math.ceil(first.mark - first.seen_at));
    return { rows: [], died: first.receive_count, next_due_in_ms: nextDueInMs, looked_until: first.seen_at };
  }
  const taken = rows as MessageRow[];
  return { rows: taken, died: 0, next_due_in_ms: null, looked_until: first?.mark ?? 0 };
}

/** Identifies a delivery of a message. */
export interface ReceiptRow {
  id: string;
  receipt: number;
}

async function count(queryable: Queryable, statement: Statement, values: readonly unknown[]): Promise<number> {
  const [row] = await queryable.query<{ n: number }>(statement, values);
  return row!.n;
}

function receiptValues(receipts: readonly ReceiptRow[]): [string, string] {
  return [uuidArray(receipts.map(({ id }) => id)), numberArray(receipts.map(({ receipt }) => receipt))];
}

export function deleteMessages(queryable: Queryable, queue: string, receipts: readonly ReceiptRow[]): Promise<number> {
  return count(queryable, DELETE, [queue, ...receiptValues(receipts)]);
}

export interface Hide {
  queue: string;
  receipts: readonly ReceiptRow[];
  delayMs: number;
  /** Ends the deliveries: the messages are visible again after the delay. */
  release: boolean;
}

export function hideMessages(queryable: Queryable, hide: Hide, now: string | null): Promise<number> {
  const { queue, receipts, delayMs, release } = hide;
  return count(queryable, HIDE, [queue, ...receiptValues(receipts), Math.ceil(delayMs), release, now]);
}

export function deadLetterMessages(
  queryable: Queryable,
  queue: string,
  letters: readonly (ReceiptRow & { reason: string })[],
  now: string | null,
): Promise<number> {
  return count(queryable, DEAD_LETTER, [queue, ...receiptValues(letters), letters.map(({ reason }) => reason), now]);
}

export function redriveMessages(
  queryable: Queryable,
  queue: string,
  ids: readonly string[] | null,
  limit: number,
  now: string | null,
): Promise<number> {
  return count(queryable, REDRIVE, [queue, ids === null ? null : uuidArray(ids), limit, now]);
}

export function findDeadLetters(
  queryable: Queryable,
  queue: string | null,
  page: { offset: number; limit: number },
): Promise<DeadRow[]> {
  return queryable.query<DeadRow>(LIST_DEAD, [queue, page.limit, page.offset]);
}

/** Deletes dead letters older than this; returns their number. */
export async function forgetDeadLetters(
  queryable: Queryable,
  olderThanMs: number,
  limit: number,
  now: string | null,
): Promise<number> {
  return (await queryable.query(FORGET_DEAD, [olderThanMs, limit, now])).length;
}

export async function countMessages(
  queryable: Queryable,
  queue: string,
  now: string | null,
): Promise<{ visible: number; in_flight: number; delayed: number; dead: number }> {
  const [row] = await queryable.query<{ visible: number; in_flight: number; delayed: number; dead: number }>(DEPTH, [
    queue,
    now,
  ]);
  return row!;
}
