import { HeddleError } from '@heddle/base/errors';
import type { WorkflowNotification } from '../../domain/notification/notification.ts';
import { placeOf } from '@heddle/base/parse/path';
import type { NewTask } from '@heddle/base/vocabulary/task';
import type { NewNode } from '@heddle/base/vocabulary/workflow';
import type { Queryable } from '../../store/database.ts';
import { putNoticeEntries } from '../../store/notices.ts';
import { answerIdempotencyKey, takeIdempotencyKey } from '../../store/submissions.ts';
import type { Moved } from '../../store/transitions.ts';
import { insertTrees, readStoredTrees, storeNodes } from '../../store/trees.ts';
import type { EngineContext } from '../context.ts';
import { requireSoundFlow } from '../flow/check.ts';
import type { TaskReads } from '../flow/plan.ts';
import { requireTemplates } from '../notices/check.ts';
import type { WorkflowSubmission, WorkflowSubmitResult } from '../port.ts';
import { requireKnownClasses } from '../runners/check.ts';
import { vocabularyOf, type Vocabulary } from '../submission-rows.ts';
import { flatten, isTask } from './flatten.ts';
import { TreeRowBuilder } from './tree-rows.ts';

const ROUTE = 'POST /v1/workflows';

export function tasksOf(root: NewNode): NewTask[] {
  return flatten(root).flatMap((flat) => (isTask(flat) ? [flat.node.task] : []));
}

/**
 * Stores workflows that are trees, all or none of them; those stored before stay unchanged.
 *
 * @throws HeddleError IDEMPOTENCY_MISMATCH if a key was used with another body; VALIDATION_FAILED if an expression or a
 * template is invalid, or a runner class is unknown
 */
export async function submitWorkflows(
  context: EngineContext,
  submissions: readonly WorkflowSubmission[],
): Promise<WorkflowSubmitResult[]> {
  if (submissions.length === 0) return [];
  for (const { notify, root } of submissions) if (notify !== undefined) requireTemplates(notify, root);
  for (const { root } of submissions) requireKnownClasses(root, placeOf(null, 'root'), context.resourceClasses);
  const tasks = submissions.map(({ root }) => tasksOf(root));
  const flows = new Map<NewNode, Map<string, TaskReads>>(
    submissions.map(({ root }) => [root, requireSoundFlow(root, placeOf(null, 'root'))]),
  );
  const vocabulary = await vocabularyOf(
    context,
    tasks.map((list) => ({ tasks: list })),
  );
  const { results, moved } = await context.database.transaction((tx) =>
    store(context, tx, submissions, vocabulary, flows),
  );
  if (moved !== null) await context.observer.moved(moved);
  results.forEach((result, index) => {
    if (!result.replayed) context.observer.created(tasks[index]!.length, tasks[index]!.length);
  });
  return results;
}

async function store(
  context: EngineContext,
  tx: Queryable,
  submissions: readonly WorkflowSubmission[],
  vocabulary: Vocabulary,
  flows: ReadonlyMap<NewNode, Map<string, TaskReads>>,
): Promise<{ results: WorkflowSubmitResult[]; moved: Moved | null }> {
  const answers = new Map<number, WorkflowSubmitResult>();
  for (const [index, { idempotency }] of submissions.entries()) {
    if (idempotency === null) continue;
    const earlier = await takeIdempotencyKey(tx, ROUTE, idempotency.key, idempotency.body_hash, context.now());
    if (earlier === null) continue;
    if (earlier.body_hash !== idempotency.body_hash) throw mismatch();
    answers.set(index, { ...(earlier.response as WorkflowSubmitResult), replayed: true });
  }
  const wanted = submissions.filter((_, index) => !answers.has(index));
  const fresh = await insertTrees(
    tx,
    wanted.map(({ root, name, job_run_id, traceparent: given }) => {
      const traceparent = context.traces === null ? given : context.traces.submitted(root.id, given);
      return { id: root.id, name, job_run_id, traceparent };
    }),
    context.now(),
  );
  const builder = new TreeRowBuilder(vocabulary);
  const added = new Set<string>();
  const entries: { w: string; e: readonly WorkflowNotification[] }[] = [];
  for (const { root, notify = [] } of wanted) {
    if (!fresh.has(root.id) || added.has(root.id)) continue;
    added.add(root.id);
    if (notify.length > 0) entries.push({ w: root.id, e: notify });
    const reads = flows.get(root)!;
    const target = { container_id: null, position: 0, opens: true, generator: null, begun: false, reads };
    builder.add(root, { workflow_id: root.id, ...target });
  }
  await putNoticeEntries(tx, entries);
  // Sent together: the second finds what the first has stored.
  const [moved, counted] = await Promise.all([
    added.size === 0 ? null : storeNodes(tx, builder.rows, context.now()),
    readStoredTrees(
      tx,
      wanted.map(({ root }) => root.id),
    ),
  ]);
  const stored = new Map(counted.map((row) => [row.id, row]));
  const results: WorkflowSubmitResult[] = [];
  for (const [index, { root, idempotency }] of submissions.entries()) {
    const answer = answers.get(index);
    if (answer !== undefined) {
      results.push(answer);
      continue;
    }
    const { created_at, task_count, container_count } = stored.get(root.id)!;
    // A second submission of the same workflow in a set is a repeat.
    const replayed = !fresh.delete(root.id);
    const result = { workflow_id: root.id as string, created_at, task_count, container_count, replayed };
    if (idempotency !== null) await answerIdempotencyKey(tx, ROUTE, idempotency.key, JSON.stringify(result));
    results.push(result);
  }
  return { results, moved };
}

function mismatch(): HeddleError {
  return new HeddleError('IDEMPOTENCY_MISMATCH', undefined, {
    details: ['Idempotency-Key: was used with another body; send a new key for a new request'],
  });
}
