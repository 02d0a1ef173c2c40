import { HeddleError } from '@heddle/base/errors';
import { taskStateOf, type TaskState } from '@heddle/base/vocabulary/task-state';
import { isAuditFailure } from '../store/audit.ts';
import type { Queryable } from '../store/database.ts';
import {
  announceEnded,
  answerIdempotencyKey,
  insertSubmissions,
  lockParents,
  takeIdempotencyKey,
} from '../store/submissions.ts';
import type { Claims } from './claim.ts';
import type { EngineContext } from './context.ts';
import { DependencyPlanner } from './dependency-planner.ts';
import { deduplicate, probesOf, type AskedProbe } from './deduplicate.ts';
import type { Submission, SubmitResult } from './port.ts';
import { requireClassesOf } from './runners/check.ts';
import { RowBuilder, vocabularyOf, type Vocabulary } from './submission-rows.ts';

const ROUTE = 'POST /task';
/** Maximum number of tasks for a submission to let a claimer of this process take ready tasks in its transaction. */
const CLAIM_ALONG_TASKS_MAX = 64;

/**
 * Stores workflows, all or none of them. Submissions without idempotency keys and dedupe strategies share one
 * statement; any other makes the call a transaction that handles each in order.
 *
 * @throws HeddleError IDEMPOTENCY_MISMATCH if a key was used with another body; VALIDATION_FAILED if a runner class is
 * unknown
 */
export async function submit(
  context: EngineContext,
  claims: Claims,
  submissions: readonly Submission[],
): Promise<SubmitResult[]> {
  if (submissions.length === 0) return [];
  for (const { tasks } of submissions) requireClassesOf(tasks, context.resourceClasses);
  const results = submissions.every(isPlain)
    ? await submitPlain(context, claims, submissions)
    : await submitInTurn(context, submissions);
  for (const [index, result] of results.entries()) {
    if (result.replayed) continue;
    const created = result.tasks.filter((task) => task.deduplicated_to === null).length;
    const { tasks } = submissions[index]!;
    context.observer.created(created, tasks.filter((task) => task.dependencies.length > 0).length);
  }
  return results;
}

function isPlain(submission: Submission): boolean {
  return (
    submission.idempotency === null &&
    submission.tasks.every(
      (task) => task.dedupe.length === 0 && task.dependencies.every((dependency) => 'index' in dependency),
    )
  );
}

/** An audit log that cannot be written keeps no task from being stored: the caller records those entries by themselves. */
async function submitPlain(
  context: EngineContext,
  claims: Claims,
  submissions: readonly Submission[],
): Promise<SubmitResult[]> {
  try {
    return await storePlain(context, claims, submissions);
  } catch (error) {
    if (!isAuditFailure(error)) throw error;
    return storePlain(
      context,
      claims,
      submissions.map(({ audit_entry: _, ...submission }) => submission),
    );
  }
}

async function storePlain(
  context: EngineContext,
  claims: Claims,
  submissions: readonly Submission[],
): Promise<SubmitResult[]> {
  const vocabulary = await vocabularyOf(context, submissions);
  const builder = new RowBuilder(vocabulary);
  const states = submissions.map((submission) => addPlain(builder, submission));
  const { rows } = builder;
  const along = rows.tasks.length <= CLAIM_ALONG_TASKS_MAX ? context.offers.take(vocabulary.kinds.keys()) : null;
  const stored =
    along === null
      ? await insertSubmissions(context.database, rows, context.now())
      : await claims.submitAndClaim(rows, along);
  context.signals.emit({ lanes: stored.lanes, deliveries: false });
  return submissions.map((submission, index) => ({
    workflow_id: submission.workflow_id,
    created_at: stored.now,
    replayed: false,
    audited: submission.audit_entry !== undefined,
    tasks: submission.tasks.map((task, at) => ({
      id: task.id,
      local_id: task.local_id,
      state: states[index]![at]!,
      deduplicated_to: null,
    })),
  }));
}

function addPlain(builder: RowBuilder, submission: Submission): TaskState[] {
  const { tasks, audit_entry } = submission;
  const linked = tasks.some((task) => task.dependencies.length > 0);
  if (audit_entry !== undefined) builder.rows.auditEntries.push(audit_entry);
  builder.addWorkflow(submission, { tasks: tasks.length, ended: [] }, linked);
  return tasks.map((task) => {
    const parents = new Map<string, boolean>();
    for (const dependency of task.dependencies) {
      const parent = 'index' in dependency ? tasks[dependency.index]!.id : dependency.task_id;
      parents.set(parent, (parents.get(parent) ?? false) || dependency.requires_success);
    }
    for (const [parent_id, requires_success] of parents) {
      builder.addEdge({ parent_id, child_id: task.id, requires_success });
    }
    builder.addTask(task, submission.workflow_id, { open_gates: parents.size, linked });
    return parents.size > 0 ? 'waiting' : 'pending';
  });
}

/** Submission with everything that must be looked up before the transaction. */
interface Prepared {
  submission: Submission;
  vocabulary: Vocabulary;
  asked: AskedProbe[];
}

async function submitInTurn(context: EngineContext, submissions: readonly Submission[]): Promise<SubmitResult[]> {
  const prepared: Prepared[] = [];
  for (const submission of submissions) {
    const vocabulary = await vocabularyOf(context, [submission]);
    const asked = submission.with_duplicates === true ? [] : await probesOf(context, submission.tasks, vocabulary);
    prepared.push({ submission, vocabulary, asked });
  }
  const lanes = new Set<number>();
  let deliveries = false;
  const results = await context.database.transaction(async (tx) => {
    const stored: SubmitResult[] = [];
    for (const one of prepared) {
      stored.push(
        await submitOne(context, tx, one, (signal) => {
          for (const lane of signal.lanes) lanes.add(lane);
          deliveries ||= signal.deliveries;
        }),
      );
    }
    return stored;
  });
  context.signals.emit({ lanes: [...lanes], deliveries });
  return results;
}

type Announce = (signal: { lanes: readonly number[]; deliveries: boolean }) => void;

async function submitOne(
  context: EngineContext,
  tx: Queryable,
  prepared: Prepared,
  announce: Announce,
): Promise<SubmitResult> {
  const { idempotency } = prepared.submission;
  if (idempotency !== null) {
    const earlier = await takeIdempotencyKey(tx, ROUTE, idempotency.key, idempotency.body_hash, context.now());
    if (earlier !== null) {
      if (earlier.body_hash !== idempotency.body_hash) {
        throw new HeddleError('IDEMPOTENCY_MISMATCH', undefined, {
          details: ['Idempotency-Key: was used with another body; send a new key for a new request'],
        });
      }
      return { ...(earlier.response as SubmitResult), replayed: true };
    }
  }
  const result = await storeDeduplicated(context, tx, prepared, announce);
  if (idempotency !== null) await answerIdempotencyKey(tx, ROUTE, idempotency.key, JSON.stringify(result));
  return result;
}

async function storeDeduplicated(
  context: EngineContext,
  tx: Queryable,
  { submission, vocabulary, asked }: Prepared,
  announce: Announce,
): Promise<SubmitResult> {
  const duplicates = await deduplicate(tx, submission, asked, vocabulary);
  const builder = new RowBuilder(vocabulary);
  const planner = new DependencyPlanner(submission, duplicates);
  planner.learn(await lockParents(tx, planner.storedParents()));
  const states: TaskState[] = [];
  const ended: string[] = [];
  const linked = planner.hasEdges();
  for (const [index, task] of submission.tasks.entries()) {
    if (duplicates[index] !== null) {
      states.push('pending');
      continue;
    }
    const fate = planner.fateOf(index, linked);
    for (const edge of planner.edgesOf(index)) builder.addEdge(edge);
    builder.addTask(task, submission.workflow_id, fate);
    if (fate.ended !== undefined) ended.push(task.id);
    states.push(fate.ended !== undefined ? taskStateOf(fate.ended.state) : fate.open_gates > 0 ? 'waiting' : 'pending');
  }
  const created = builder.rows.tasks.length;
  let now = context.clock.now();
  if (created > 0) {
    builder.addWorkflow(submission, { tasks: created, ended }, linked);
    const stored = await insertSubmissions(tx, builder.rows, context.now());
    now = stored.now;
    if (ended.length > 0) await announceEnded(tx, ended, context.now());
    announce({ lanes: stored.lanes, deliveries: ended.length > 0 });
  }
  return {
    workflow_id: submission.workflow_id,
    created_at: now,
    replayed: false,
    tasks: submission.tasks.map((task, index) => ({
      id: task.id,
      local_id: task.local_id,
      state: states[index]!,
      deduplicated_to: duplicates[index]!,
    })),
  };
}
