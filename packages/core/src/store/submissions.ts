import type { JsonObject } from '@heddle/base/json';
import type { SettingColumns } from '@heddle/base/vocabulary/task-fields';
import type { Queryable, Statement } from './database.ts';
import { SUBMISSION, submissionValues } from './submission-columns.ts';
import { numberArray, uuidArray } from './transitions.ts';

const MOMENT = 'with moment as materialized (select coalesce($32::timestamptz, clock_timestamp()) as now)';

const SUBMIT: Statement = {
  name: 'workflows.submit',
  text: `${MOMENT} select submit_tasks(${SUBMISSION}, m.now, null, null) as lanes, m.now from moment m`,
};

const SUBMIT_FEW: Statement = {
  name: 'workflows.submit_few',
  text: `${MOMENT} select submit_few(${SUBMISSION}, m.now) as lanes, m.now from moment m`,
};

/** Maximum number of tasks whose statements are not planned again. */
const FEW_MAX = 64;

const FIND_DUPLICATES: Statement = {
  name: 'workflows.find_duplicates',
  text: `select n, task_id, probe_key::text as probe_key from find_duplicates($1::integer[], $2::jsonb)`,
};

const LOCK_PARENTS: Statement = {
  name: 'workflows.lock_parents',
  text: `select id from task where id = any($1::uuid[]) order by id for no key update`,
};

const READ_PARENTS: Statement = {
  name: 'workflows.read_parents',
  text: `select id, name, state, policy, cause, reason from task_all where id = any($1::uuid[])`,
};

const LINK_PARENTS: Statement = {
  name: 'workflows.link_parents',
  text: `update task set linked = true where id = any($1::uuid[]) and not linked`,
};

const ANNOUNCE_ENDED: Statement = {
  name: 'workflows.announce_ended',
  text: `select write_end_deliveries($1::uuid[], coalesce($2::timestamptz, clock_timestamp()))`,
};

const REMEMBER_KEY: Statement = {
  name: 'idempotency.remember',
  text: `insert into idempotency (route, key, body_hash, created_at)
    values ($1, $2, $3, coalesce($4::timestamptz, clock_timestamp())) on conflict do nothing returning key`,
};

const RECALL_KEY: Statement = {
  name: 'idempotency.recall',
  text: `select body_hash, response from idempotency where route = $1 and key = $2`,
};

const ANSWER_KEY: Statement = {
  name: 'idempotency.answer',
  text: `update idempotency set response = $3::jsonb where route = $1 and key = $2`,
};

/** Sorted by key, so that two commits with common keys cannot deadlock. */
const TAKE_KEYS: Statement = {
  name: 'idempotency.take_set',
  text: `insert into idempotency (route, key, body_hash, created_at)
    select u.route, u.key, u.body_hash, coalesce($4::timestamptz, clock_timestamp())
    from unnest($1::text[], $2::text[], $3::text[]) u(route, key, body_hash) order by u.route, u.key
    on conflict do nothing returning route, key`,
};

const RECALL_KEYS: Statement = {
  name: 'idempotency.recall_set',
  text: `select i.route, i.key, i.body_hash
    from unnest($1::text[], $2::text[]) u(route, key) join idempotency i on i.route = u.route and i.key = u.key`,
};

const RELEASE_KEYS: Statement = {
  name: 'idempotency.release_set',
  text: `delete from idempotency i using unnest($1::text[], $2::text[]) u(route, key)
    where i.route = u.route and i.key = u.key`,
};

const FORGET_KEYS: Statement = {
  name: 'idempotency.forget',
  text: `delete from idempotency where created_at < coalesce($1::timestamptz, clock_timestamp()) - interval '1 day'`,
};

/** A task that `store_plain_tasks` can store. What is absent has its default, which saves parsing. */
export interface PlainTaskRow extends Partial<SettingColumns> {
  id: string;
  workflow_id: string;
  kind_id: number;
  name: string;
  local_id?: string;
  metadata?: JsonObject;
  open_gates?: number;
  linked?: boolean;
  /** Number of its list of rules. */
  rule_set?: number;
}

/** A task for store_tasks. */
export interface TaskRow extends PlainTaskRow {
  delay_ms?: number;
  starts_by_webhook?: boolean;
  needs_runner?: boolean;
  has_spec?: boolean;
  has_actions?: boolean;
  /** Its input holds expressions. */
  computed?: boolean;
  /** Its rules, if their list has no number. */
  rule_shapes?: number[];
  rule_maxima?: number[];
  /** It ends at once: its state. */
  ended_as?: number;
  reason?: string;
  cause?: string;
  container_id?: string;
  position?: number;
  policy?: number;
  sealed?: boolean;
  generates?: boolean;
  generator_id?: string;
  generator_attempt?: number;
}

export interface EdgeRow {
  parent_id: string;
  child_id: string;
  requires_success: boolean;
  /** Crosses workflows. */
  crosses?: boolean;
  /** The parent has ended already. */
  relayed?: boolean;
}

export interface SpecRow {
  task_id: string;
  actions?: unknown;
  rules?: unknown;
  dedupe?: unknown;
  retry?: unknown;
  reads?: unknown;
  requirements?: unknown;
}

export interface WorkflowRow {
  id: string;
  name: string | null;
  linked: boolean;
  task_count: number;
  remaining: number;
  /** First of its tasks that ended already, for they failed. */
  failed_task?: string;
  /** Of its tasks, at most RUN_KINDS_MAX. */
  kinds: readonly number[];
  traceparent: string | null;
}

export interface SubmissionRows {
  /** Whether all tasks are plain. */
  isPlain: boolean;
  workflows: WorkflowRow[];
  tasks: TaskRow[];
  specs: SpecRow[];
  edges: EdgeRow[];
  kindIds: readonly number[];
  /** Texts of entries for the audit log, in their order. */
  auditEntries: string[];
}

/** Inserts everything in one statement. Returns the lanes where tasks became ready, and the time (ms). */
export async function insertSubmissions(
  queryable: Queryable,
  rows: SubmissionRows,
  now: string | null,
): Promise<{ lanes: number[]; now: number }> {
  const statement = rows.tasks.length <= FEW_MAX ? SUBMIT_FEW : SUBMIT;
  const [row] = await queryable.query<{ lanes: number[]; now: number }>(statement, submissionValues(rows, now));
  return row!;
}

/** Asks whether tasks of shape `s` with metadata like `m` exist in one of the states `t`. */
export interface DedupeProbe {
  n: number;
  shape: number;
  metadata: JsonObject;
  /** Codes of the states in which a task counts. */
  states: number[];
}

export interface DedupeAnswer {
  n: number;
  task_id: string | null;
  probe_key: string;
}

/** Returns one answer per probe, in order; holds the keys locked until the transaction ends. */
export function findDuplicates(
  queryable: Queryable,
  kindIds: readonly number[],
  probes: readonly DedupeProbe[],
): Promise<DedupeAnswer[]> {
  return queryable.query(FIND_DUPLICATES, [numberArray(kindIds), JSON.stringify(probes)]);
}

export interface ParentRow {
  id: string;
  name: string;
  state: number;
  policy: number;
  cause: string | null;
  reason: string | null;
}

/** Locks tasks that tasks of other workflows will depend on, then reads their current states. */
export async function lockParents(queryable: Queryable, ids: readonly string[]): Promise<Map<string, ParentRow>> {
  await queryable.query(LOCK_PARENTS, [uuidArray(ids)]);
  const rows = await queryable.query<ParentRow>(READ_PARENTS, [uuidArray(ids)]);
  await queryable.query(LINK_PARENTS, [uuidArray(ids)]);
  return new Map(rows.map((row) => [row.id, row]));
}

export async function announceEnded(queryable: Queryable, ids: readonly string[], now: string | null): Promise<void> {
  await queryable.query(ANNOUNCE_ENDED, [uuidArray(ids), now]);
}

/**
 * Takes an idempotency key for this transaction. Null: it is new; otherwise the body and the response of its first use.
 * Waits for a concurrent first request.
 */
export async function takeIdempotencyKey(
  queryable: Queryable,
  route: string,
  key: string,
  bodyHash: string,
  now: string | null,
): Promise<{ body_hash: string; response: unknown } | null> {
  const taken = await queryable.query(REMEMBER_KEY, [route, key, bodyHash, now]);
  if (taken.length > 0) return null;
  const [row] = await queryable.query<{ body_hash: string; response: unknown }>(RECALL_KEY, [route, key]);
  return row ?? null;
}

export async function answerIdempotencyKey(
  queryable: Queryable,
  route: string,
  key: string,
  response: string,
): Promise<void> {
  await queryable.query(ANSWER_KEY, [route, key, response]);
}

interface KeyName {
  route: string;
  key: string;
}

/** Takes distinct keys for this transaction. Returns for each null if it is new, else the body of its first use. */
export async function takeIdempotencyKeys(
  queryable: Queryable,
  keys: readonly (KeyName & { body_hash: string })[],
  now: string | null,
): Promise<(string | null)[]> {
  const nameOf = ({ route, key }: KeyName): string => JSON.stringify([route, key]);
  const columns = [keys.map(({ route }) => route), keys.map(({ key }) => key)];
  const bodies = keys.map(({ body_hash }) => body_hash);
  const taken = new Set((await queryable.query<KeyName>(TAKE_KEYS, [...columns, bodies, now])).map(nameOf));
  if (taken.size === keys.length) return keys.map(() => null);
  const known = await queryable.query<KeyName & { body_hash: string }>(RECALL_KEYS, columns);
  const bodyOf = new Map(known.map((row) => [nameOf(row), row.body_hash]));
  return keys.map((key) => (taken.has(nameOf(key)) ? null : (bodyOf.get(nameOf(key)) ?? null)));
}

/** Releases keys that this transaction took for rejected requests. */
export async function releaseIdempotencyKeys(queryable: Queryable, keys: readonly KeyName[]): Promise<void> {
  await queryable.query(RELEASE_KEYS, [keys.map(({ route }) => route), keys.map(({ key }) => key)]);
}

export async function forgetIdempotencyKeys(queryable: Queryable, now: string | null): Promise<void> {
  await queryable.query(FORGET_KEYS, [now]);
}
