import type { JsonObject } from '@heddle/base/json';
import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';
import { SUBMISSION, submissionValues } from './submission-columns.ts';
import type { SubmissionRows } from './submissions.ts';
import {
  numberArray,
  SETTLE_ARGUMENTS,
  settleValues,
  uuidArray,
  type GivenBack,
  type Moved,
  type SettleInput,
  type Waits,
} from './transitions.ts';

interface ClaimStatement {
  plain: Statement;
  traced: Statement;
}

const CLAIMED = 'c.tasks, c.refused';

/** Traces cost one lookup of a set's workflows, and nothing unless requested. */
const TRACED = `${CLAIMED}, traceparents_of(array(
      select distinct (t ->> 1)::uuid from json_array_elements(c.tasks) t)) as traceparents`;

const statement = (name: string, text: string): Statement => ({ name, text });

const claimText = (claimed: string): string =>
  `select ${claimed} from claim($1::integer[], $2, $3, 'run', $4, $5, $6) c`;

const CLAIM: ClaimStatement = {
  plain: statement('tasks.claim', claimText(CLAIMED)),
  traced: statement('tasks.claim_traced', claimText(TRACED)),
};

const settleAndClaimText = (claimed: string): string => `select c.moved, ${claimed}
    from settle_and_claim(${SETTLE_ARGUMENTS}, row($15::integer[], $16, $17, $18, $19)::claim_terms) c`;

const SETTLE_AND_CLAIM: ClaimStatement = {
  plain: statement('tasks.settle_and_claim', settleAndClaimText(CLAIMED)),
  traced: statement('tasks.settle_and_claim_traced', settleAndClaimText(TRACED)),
};

const submitAndClaimText = (claimed: string): string => `select c.lanes, c.now, ${claimed}
    from submit_and_claim(${SUBMISSION}, $32, row($33::integer[], $34, $35, $36, $37)::claim_terms) c`;

const SUBMIT_AND_CLAIM: ClaimStatement = {
  plain: statement('workflows.submit_and_claim', submitAndClaimText(CLAIMED)),
  traced: statement('workflows.submit_and_claim_traced', submitAndClaimText(TRACED)),
};

const CLAIM_FOR_DELIVERY: Statement = {
  name: 'tasks.claim_for_delivery',
  text: `select ${CLAIMED} from claim('{0}', $1, $2, 'deliver', $3, null, $4) c`,
};

const SEEN: Statement = {
  name: 'claimers.seen',
  text: `with taken as (update kind set taken = true where id = any($1::integer[]) and not taken)
    insert into claimer (lane, holder, seen_at)
    select unnest($1::integer[]), $2, coalesce($3::timestamptz, clock_timestamp())
    on conflict (lane, holder) do update set seen_at = excluded.seen_at`,
};

const HEARTBEAT: Statement = {
  name: 'tasks.heartbeat',
  text: `select heartbeat($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[], $5, $6) as moved`,
};

const RELEASE: Statement = {
  name: 'tasks.release',
  text: withCodes(`select release_attempts($1::uuid[], $2::integer[], :attempt_released, $3) as moved`),
};

/** Begins the holder of attempts that a manager put into the queue of their kind. */
const QUEUE_HOLDER = 'queue of ';

const FIND_HOLDERS: Statement = {
  name: 'tasks.find_holders',
  text: `select t.id as task_id, t.attempt, l.holder, t.starts_by_webhook, t.secrets_sent, k.name as kind,
      coalesce(starts_with(l.holder, $2), false) as from_queue
    from task t join kind k on k.id = t.kind_id left join lease l on l.id = t.lease_id where t.id = any($1::uuid[])`,
};

const PUT_BACK: Statement = {
  name: 'tasks.put_back',
  text: `select put_back_attempts($1::uuid[], $2::integer[], $3) as moved`,
};

const DISPATCHABLE: Statement = { name: 'kinds.dispatchable', text: `select kind_id from dispatchable($1, $2)` };

const DISPATCH: Statement = {
  name: 'tasks.dispatch',
  text: `select ${TRACED} from dispatch($1, $2, $3, $4) c`,
};

const WORKERS_SEEN: Statement = {
  name: 'claimers.workers_seen',
  text: `select workers_seen($1::integer[], $2::text[], $3::integer[], $4)`,
};

const FORGET_CLAIMERS: Statement = {
  name: 'claimers.forget',
  text: `delete from claimer where seen_at < coalesce($1::timestamptz, clock_timestamp()) - interval '1 day'`,
};

export interface ClaimRow {
  id: string;
  workflow_id: string;
  kind_id: number;
  name: string;
  attempt: number;
  metadata: JsonObject;
  timeout_secs: number;
  /** 1: `activity`; 0: `start`. */
  deadline_basis: number;
  linked: boolean;
  container_id: string | null;
  local_id: string | null;
  /** Its input holds expressions. */
  computed: boolean;
  waited_ms: number;
  /** W3C trace context that its workflow was submitted with; null if it has none or it was not requested. */
  traceparent: string | null;
}

/** Options of a claim beside its lanes. */
export interface ClaimTerms {
  limit: number;
  holder: string;
  claimTimeoutMs: number;
  leaseMs: number | null;
  traced: boolean;
}

export interface Claimed {
  rows: ClaimRow[];
  /** Number of ready tasks that rules blocked. */
  refused: number;
}

/** The values of the SQL function claimed_task. */
type ClaimedTask = [
  id: string,
  workflow_id: string,
  kind_id: number,
  name: string,
  attempt: number,
  metadata: JsonObject,
  timeout_secs: number,
  deadline_basis: number,
  linked: boolean,
  container_id: string | null,
  local_id: string | null,
  computed: boolean,
  waited_ms: number,
];

interface ClaimedSet {
  tasks: ClaimedTask[] | null;
  refused: number | null;
  /** By workflow, of those that have one; absent if not requested. */
  traceparents?: Record<string, string> | null;
}

function claimedOf({ tasks, refused, traceparents }: ClaimedSet): Claimed {
  return { rows: (tasks ?? []).map((task) => rowOf(task, traceparents?.[task[1]] ?? null)), refused: refused ?? 0 };
}

function rowOf(task: ClaimedTask, traceparent: string | null): ClaimRow {
  return {
    id: task[0],
    workflow_id: task[1],
    kind_id: task[2],
    name: task[3],
    attempt: task[4],
    metadata: task[5],
    timeout_secs: task[6],
    deadline_basis: task[7],
    linked: task[8],
    container_id: task[9],
    local_id: task[10],
    computed: task[11],
    waited_ms: task[12],
    traceparent,
  };
}

function statementFor({ plain, traced }: ClaimStatement, terms: ClaimTerms): Statement {
  return terms.traced ? traced : plain;
}

export async function claimTasks(
  queryable: Queryable,
  lanes: readonly number[],
  terms: ClaimTerms,
  now: string | null,
): Promise<Claimed> {
  const values = [numberArray(lanes), terms.limit, terms.holder, terms.claimTimeoutMs, terms.leaseMs, now];
  const [set] = await queryable.query<ClaimedSet>(statementFor(CLAIM, terms), values);
  return claimedOf(set!);
}

/** Settles reports, then claims, in one statement. */
export async function settleAndClaim(
  queryable: Queryable,
  input: SettleInput,
  lanes: readonly number[],
  terms: ClaimTerms,
): Promise<{ moved: Moved; claimed: Claimed }> {
  const { limit, holder, claimTimeoutMs, leaseMs } = terms;
  const [set] = await queryable.query<ClaimedSet & { moved: Moved }>(statementFor(SETTLE_AND_CLAIM, terms), [
    ...settleValues(input),
    numberArray(lanes),
    limit,
    holder,
    claimTimeoutMs,
    leaseMs,
  ]);
  return { moved: set!.moved, claimed: claimedOf(set!) };
}

/** Stores submissions and, in the same transaction, claims from these lanes. */
export async function submitAndClaim(
  queryable: Queryable,
  rows: SubmissionRows,
  lanes: readonly number[],
  terms: ClaimTerms,
  now: string | null,
): Promise<{ stored: { lanes: number[]; now: number }; claimed: Claimed }> {
  const { limit, holder, claimTimeoutMs, leaseMs } = terms;
  const [set] = await queryable.query<ClaimedSet & { lanes: number[]; now: number }>(
    statementFor(SUBMIT_AND_CLAIM, terms),
    [...submissionValues(rows, now), numberArray(lanes), limit, holder, claimTimeoutMs, leaseMs],
  );
  return { stored: { lanes: set!.lanes, now: set!.now }, claimed: claimedOf(set!) };
}

export async function claimTasksForDelivery(
  queryable: Queryable,
  limit: number,
  holder: string,
  claimTimeoutMs: number,
  now: string | null,
): Promise<Claimed> {
  const [set] = await queryable.query<ClaimedSet>(CLAIM_FOR_DELIVERY, [limit, holder, claimTimeoutMs, now]);
  return claimedOf(set!);
}

export async function markClaimerSeen(
  queryable: Queryable,
  lanes: readonly number[],
  holder: string,
  now: string | null,
): Promise<void> {
  await queryable.query(SEEN, [numberArray(lanes), holder, now]);
}

export async function forgetClaimers(queryable: Queryable, now: string | null): Promise<void> {
  await queryable.query(FORGET_CLAIMERS, [now]);
}

/** Result of heartbeats: a code for each id, in order: 0 applied, 1 ended, 2 not found, 3 stale attempt. */
export interface Beaten {
  codes: number[];
  /** Of attempts that started. */
  begun?: Waits[] | null;
  lanes: number[];
  workflows?: string[] | null;
}

/** Applies heartbeats of distinct tasks. */
export async function recordHeartbeats(
  queryable: Queryable,
  beats: readonly { task_id: string; attempt: number; new_success: number; new_failures: number }[],
  leaseMs: number,
  now: string | null,
): Promise<Beaten> {
  const [row] = await queryable.query<{ moved: Beaten }>(HEARTBEAT, [
    uuidArray(beats.map((beat) => beat.task_id)),
    numberArray(beats.map((beat) => beat.attempt)),
    numberArray(beats.map((beat) => beat.new_success)),
    numberArray(beats.map((beat) => beat.new_failures)),
    leaseMs,
    now,
  ]);
  return row!.moved;
}

export interface HolderRow {
  task_id: string;
  attempt: number;
  holder: string | null;
  starts_by_webhook: boolean;
  kind: string;
  /** Whether secrets were sent to a worker of the task. */
  secrets_sent: boolean;
  from_queue: boolean;
}

/** Returns the holders of these tasks' current attempts. */
export async function findAttemptHolders(queryable: Queryable, ids: readonly string[]): Promise<HolderRow[]> {
  return queryable.query<HolderRow>(FIND_HOLDERS, [uuidArray(ids), QUEUE_HOLDER]);
}

interface OpenAttempt {
  task_id: string;
  attempt: number;
}

/** Result of requeued attempts; `given` is null if there were none. */
export type Released = Moved & { given: GivenBack | null };

/** Requeues attempts of distinct tasks that their workers release. */
export async function releaseAttempts(
  queryable: Queryable,
  tasks: readonly OpenAttempt[],
  now: string | null,
): Promise<Released> {
  return handBack(queryable, RELEASE, tasks, now);
}

/** Requeues attempts that were never handed out: they do not count as attempts. */
export async function putBackAttempts(
  queryable: Queryable,
  tasks: readonly OpenAttempt[],
  now: string | null,
): Promise<Released> {
  return handBack(queryable, PUT_BACK, tasks, now);
}

async function handBack(
  queryable: Queryable,
  statement: Statement,
  tasks: readonly OpenAttempt[],
  now: string | null,
): Promise<Released> {
  const [row] = await queryable.query<{ moved: Released }>(statement, [
    uuidArray(tasks.map((task) => task.task_id)),
    numberArray(tasks.map((task) => task.attempt)),
    now,
  ]);
  return row!.moved;
}

/** Returns at most `limit` kinds whose queues have free capacity while tasks are ready. */
export async function findDispatchable(queryable: Queryable, limit: number, now: string | null): Promise<number[]> {
  return (await queryable.query<{ kind_id: number }>(DISPATCHABLE, [limit, now])).map((row) => row.kind_id);
}

/** @param holder the manager that claims them */
export async function claimForQueue(
  queryable: Queryable,
  kind: number,
  limit: number,
  holder: string,
  now: string | null,
): Promise<Claimed> {
  const [set] = await queryable.query<ClaimedSet>(DISPATCH, [kind, limit, QUEUE_HOLDER + holder, now]);
  return claimedOf(set!);
}

/** One entry per lane and worker. */
export async function markWorkersSeen(
  queryable: Queryable,
  seen: readonly { lane: number; worker: string; concurrency: number }[],
  now: string | null,
): Promise<void> {
  await queryable.query(WORKERS_SEEN, [
    numberArray(seen.map((entry) => entry.lane)),
    seen.map((entry) => entry.worker),
    numberArray(seen.map((entry) => entry.concurrency)),
    now,
  ]);
}
