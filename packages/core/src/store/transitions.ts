import type { JsonObject } from '@heddle/base/json';
import type { Queryable, Statement } from './database.ts';
import type { TracedAttempt } from './traces.ts';

/** Result of a transition; absent members mean "none". Kinds and lanes are ids. */
export interface Moved {
  /** Nothing moved: secrets were sent for a task that is not among the redacted ones. */
  unredacted?: boolean;
  /** A code for each id, in order; null if all were applied. */
  codes?: number[] | null;
  /** The state of each id, in order. */
  states?: (number | null)[] | null;
  transitions?: TransitionCount[] | null;
  /** Tasks failed by dependency. */
  cascaded?: { kind: number; count: number }[] | null;
  /** Dependencies through which ends were propagated, by the state of the parent. */
  propagations?: { state: number; count: number }[] | null;
  lanes?: number[] | null;
  deliveries?: number;
  unblocked?: number;
  retried?: number;
  reopened?: number;
  /** Requested disables that are not later nodes of the task's sequence. */
  ignored?: { task_id: string; node: string }[] | null;
  /** At most 17 of the workflows that changed: more than 16 mean "many". */
  workflows?: string[] | null;
  /** Ended workflows with a trace. */
  ended?: string[] | null;
}

/** Tasks of a kind that went from one state to another. */
export interface TransitionCount {
  kind: number;
  from: number;
  to: number;
  /** How long each ran, if that is known. */
  durations_ms?: number[] | null;
  /** By default the number of durations. */
  count?: number;
}

/** How long the tasks of a kind were ready before they were claimed or started. */
export interface Waits {
  kind: number;
  waits_ms: number[];
}

interface MovedRow {
  moved: Moved;
}

/** First arguments of a function that settles reports: the parameters are `settleValues`. */
export const SETTLE_ARGUMENTS = `
      row($1::uuid[], $2::integer[], $3::smallint[], $4::text[], $5::jsonb, $6::uuid[], $11::uuid[], null, $13::uuid[])::reports,
      $7, $8, row($9, $10, $12, $14::integer[])::report_parts`;

const SETTLE: Statement = {
  name: 'tasks.settle',
  text: `select s.moved from settle_reports(${SETTLE_ARGUMENTS}, null) s`,
};

const UPDATE: Statement = {
  name: 'tasks.update',
  text: `select update_tasks($1::uuid[], $2::integer[], $3::jsonb, $4::uuid[], $5) as moved`,
};

const ADD_PROGRESS: Statement = {
  name: 'tasks.add_progress',
  text: `select add_progress($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[], $5) as moved`,
};

const CANCEL: Statement = { name: 'tasks.cancel', text: `select cancel_tasks($1::uuid[], $2, $3) as moved` };
const PAUSE: Statement = { name: 'tasks.pause', text: `select pause_tasks($1::uuid[], $2) as moved` };
const RESUME: Statement = { name: 'tasks.resume', text: `select resume_tasks($1::uuid[], $2) as moved` };
const RELEASE_CANCELED: Statement = {
  name: 'tasks.release_canceled',
  text: `select release_tasks($1::uuid[]) as moved`,
};
const RETRY_AFTER: Statement = { name: 'tasks.retry_after', text: `select retry_after($1::uuid[], $2) as moved` };
const REPLACE_INPUTS: Statement = {
  name: 'tasks.replace_inputs',
  text: `select replace_inputs($1::jsonb, $2) as lanes`,
};
const RETRY: Statement = { name: 'tasks.retry', text: `select retry_tasks($1::uuid[], $2) as moved` };

const UNARCHIVE: Statement = {
  name: 'tasks.unarchive',
  text: `select unarchive_workflow(w.id) from (
    select distinct workflow_id as id from archive_task where id = any($1::uuid[]) order by 1) w`,
};

const PROMOTE_DELAYED: Statement = { name: 'tasks.promote_delayed', text: `select promote_delayed($1, $2) as moved` };

const SWEEP_LEASES: Statement = {
  name: 'tasks.sweep_leases',
  text: `select sweep_leases($1, $2, $3, $4) as moved`,
};

const REGRANT: Statement = { name: 'slots.regrant', text: `select regrant($1) as lanes` };

const RELAY_ONE: Statement = { name: 'tasks.relay_one', text: `select relay_one($1) as moved` };

/**
 * Formats an array of ids for PostgreSQL: UUIDs need no quoting, and this is far faster than the driver's general way.
 */
export function uuidArray(ids: readonly (string | null)[]): string {
  return `{${ids.map((id) => id ?? 'null').join(',')}}`;
}

export function numberArray(numbers: readonly (number | null)[]): string {
  return `{${numbers.map((number) => number ?? 'null').join(',')}}`;
}

async function first(queryable: Queryable, statement: Statement, values: readonly unknown[]): Promise<Moved> {
  const [row] = await queryable.query<MovedRow>(statement, values);
  return row!.moved;
}

/** The logs of attempts that end together, in one value. */
export interface LogPack {
  data: Buffer;
  /** The tasks whose logs it has; null: those of all reports. */
  tasks: readonly string[] | null;
  /** The number of lines of each. */
  lines: readonly number[];
}

export interface SettleInput {
  ids: readonly string[];
  attempts: readonly (number | null)[];
  states: readonly number[];
  reasons: readonly (string | null)[];
  /** The member `extras` of the type `reports`, as a JSON string, or null. */
  extras: string | null;
  /** Workflows with dependencies that the tasks belong to; null if not known. */
  workflows: readonly string[] | null;
  jitter: number;
  now: string | null;
  /** [{task_id, data}] as a JSON string, stored for applied reports; or null. */
  results: string | null;
  /** Notices of succeeded tasks as write_task_notices takes them, as a JSON string; or null. */
  notices: string | null;
  /** Tasks that secrets may have been sent for; null: any. */
  redacted: readonly string[] | null;
  /** Logs that come with the reports; or null. */
  logs: LogPack | null;
}

/** Values of `$1` to `$14` of SETTLE_ARGUMENTS. */
export function settleValues(input: SettleInput): unknown[] {
  const { logs } = input;
  const reasons = input.reasons.some((reason) => reason !== null) ? input.reasons : null;
  return [
    uuidArray(input.ids),
    numberArray(input.attempts),
    numberArray(input.states),
    reasons,
    input.extras,
    input.workflows === null ? null : uuidArray(input.workflows),
    input.jitter,
    input.now,
    input.results,
    input.notices,
    input.redacted === null ? null : uuidArray(input.redacted),
    logs === null ? null : logs.data,
    logs === null || logs.tasks === null ? null : uuidArray(logs.tasks),
    logs === null ? null : numberArray(logs.lines),
  ];
}

export function settle(queryable: Queryable, input: SettleInput): Promise<Moved> {
  return first(queryable, SETTLE, settleValues(input));
}

export function updateTasks(
  queryable: Queryable,
  ids: readonly string[],
  attempts: readonly (number | null)[],
  extras: string,
  redacted: readonly string[],
  now: string | null,
): Promise<Moved> {
  return first(queryable, UPDATE, [uuidArray(ids), numberArray(attempts), extras, uuidArray(redacted), now]);
}

export function addProgress(
  queryable: Queryable,
  ids: readonly string[],
  attempts: readonly (number | null)[],
  success: readonly number[],
  failure: readonly number[],
  now: string | null,
): Promise<Moved> {
  return first(queryable, ADD_PROGRESS, [
    uuidArray(ids),
    numberArray(attempts),
    numberArray(success),
    numberArray(failure),
    now,
  ]);
}

export function cancelTasks(
  queryable: Queryable,
  ids: readonly string[],
  reason: string,
  now: string | null,
): Promise<Moved> {
  return first(queryable, CANCEL, [uuidArray(ids), reason, now]);
}

export function pauseTasks(queryable: Queryable, ids: readonly string[], now: string | null): Promise<Moved> {
  return first(queryable, PAUSE, [uuidArray(ids), now]);
}

export function resumeTasks(queryable: Queryable, ids: readonly string[], now: string | null): Promise<Moved> {
  return first(queryable, RESUME, [uuidArray(ids), now]);
}

/** Releases the slots of canceled attempts. */
export function releaseTasks(queryable: Queryable, ids: readonly string[]): Promise<Moved> {
  return first(queryable, RELEASE_CANCELED, [uuidArray(ids)]);
}

/** Reopens tasks; archived workflows are restored first, in the same transaction. */
export async function retryTasks(queryable: Queryable, ids: readonly string[], now: string | null): Promise<Moved> {
  await queryable.query(UNARCHIVE, [uuidArray(ids)]);
  return first(queryable, RETRY, [uuidArray(ids), now]);
}

/** Reopens tasks with everything after them, also what succeeded; archived workflows are restored first. */
export async function retryTasksAfter(
  queryable: Queryable,
  ids: readonly string[],
  now: string | null,
): Promise<Moved & { obstacle: string | null }> {
  await queryable.query(UNARCHIVE, [uuidArray(ids)]);
  return (await first(queryable, RETRY_AFTER, [uuidArray(ids), now])) as Moved & { obstacle: string | null };
}

/** An input for a task that has not started, with what its expressions read. */
export interface InputRow {
  id: string;
  input: JsonObject;
  reads: { nodes: Record<string, string>; data: readonly string[] } | null;
}

/** Returns the lanes where tasks became ready. */
export async function replaceInputs(
  queryable: Queryable,
  rows: readonly InputRow[],
  now: string | null,
): Promise<number[]> {
  const [row] = await queryable.query<{ lanes: number[] }>(REPLACE_INPUTS, [JSON.stringify(rows), now]);
  return row!.lanes;
}

export async function promoteDelayed(
  queryable: Queryable,
  limit: number,
  now: string | null,
): Promise<Moved & { promoted: number }> {
  return (await first(queryable, PROMOTE_DELAYED, [limit, now])) as Moved & { promoted: number };
}

/** Attempts that ended without an outcome, whose tasks are requeued. */
export interface GivenBack extends Moved {
  count: number;
}

export interface Swept {
  looked_at: number;
  settled: Moved | null;
  /** Attempts that timed out; here and below only those whose workflows have a trace. */
  overdue: TracedAttempt[] | null;
  /** Attempts whose workers were lost: those that failed because of it, and those requeued. */
  lost: { failed: Moved | null; requeued: GivenBack; attempts: TracedAttempt[] | null } | null;
  /** Attempts that would have waited in a queue forever. */
  queued: {
    failed: Moved | null;
    attempts: TracedAttempt[] | null;
    requeued: GivenBack | null;
    returned: TracedAttempt[] | null;
  } | null;
  /** Claims that were never delivered. */
  requeued: GivenBack | null;
  undelivered: TracedAttempt[] | null;
  lanes: number[];
}

/** Null if no lease was due. */
export async function sweepLeases(
  queryable: Queryable,
  limit: number,
  claimTimeoutMs: number,
  jitter: number,
  now: string | null,
): Promise<Swept | null> {
  const [row] = await queryable.query<{ moved: Swept | null }>(SWEEP_LEASES, [limit, claimTimeoutMs, jitter, now]);
  return row!.moved;
}

/** Serves tasks that wait for a slot with free capacity; returns the lanes where tasks became ready. */
export async function regrantSlots(queryable: Queryable, limit: number): Promise<number[]> {
  const [row] = await queryable.query<{ lanes: number[] }>(REGRANT, [limit]);
  return row!.lanes;
}

/** Null if no parent's end is waiting to be propagated to other workflows. */
export async function relayOne(queryable: Queryable, now: string | null): Promise<Moved | null> {
  const [row] = await queryable.query<{ moved: Moved | null }>(RELAY_ONE, [now]);
  return row!.moved;
}
