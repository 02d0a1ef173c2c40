import { HeddleError } from '../domain/errors.ts';
import type { NewTask } from '../domain/task.ts';
import { isTerminal, satisfiesRequiredSuccess, TASK_STATE_CODE, taskStateOf, type TaskState } from '../domain/task-state.ts';
import type { Queryable } from '../store/database.ts';
import {
  announceEnded,
  answerIdempotencyKey,
  insertSubmissions,
  lockParents,
  takeIdempotencyKey,
  type ParentRow,
} from '../store/submissions.ts';
import type { EngineContext } from './context.ts';
import { deduplicate } from './deduplicate.ts';
import type { Submission, SubmitResult } from './port.ts';
import { RowBuilder, type Fate } from './submission-rows.ts';

const ROUTE = 'POST /task';

/**
 * Stores workflows, all or none of them. Submissions without idempotency keys and dedupe strategies share one
 * statement; any other makes the call a transaction in which each is looked at in turn.
 *
 * @throws HeddleError IDEMPOTENCY_MISMATCH where a key was used with another body
 */
export async function submit(context: EngineContext, submissions: readonly Submission[]): Promise<SubmitResult[]> {
  if (submissions.length === 0) return [];
  const results = submissions.every(isPlain)
    ? await submitPlain(context, context.database, submissions)
    : await context.database.transaction((tx) => submitInTurn(context, tx, submissions));
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

async function submitPlain(
  context: EngineContext,
  queryable: Queryable,
  submissions: readonly Submission[],
): Promise<SubmitResult[]> {
  const builder = new RowBuilder(context);
  await builder.prepare(submissions);
  const states = submissions.map((submission) => addPlain(builder, submission));
  const stored = await insertSubmissions(queryable, builder.rows, context.now());
  context.signals.emit({ lanes: stored.lanes, deliveries: false });
  return submissions.map((submission, index) => ({
    workflow_id: submission.workflow_id,
    created_at: stored.now,
    replayed: false,
    tasks: submission.tasks.map((task, at) => ({
      id: task.id,
      local_id: task.local_id,
      state: states[index]![at]!,
      deduplicated_to: null,
    })),
  }));
}

function addPlain(builder: RowBuilder, submission: Submission): TaskState[] {
  const { tasks } = submission;
  const linked = tasks.some((task) => task.dependencies.length > 0);
  builder.addWorkflow(submission, { tasks: tasks.length, ended: 0 }, linked);
  return tasks.map((task) => {
    const parents = new Map<string, boolean>();
    for (const dependency of task.dependencies) {
      const parent = 'index' in dependency ? tasks[dependency.index]!.id : dependency.task_id;
      parents.set(parent, (parents.get(parent) ?? false) || dependency.requires_success);
    }
    for (const [p, r] of parents) builder.addEdge({ p, c: task.id, r });
    builder.addTask(task, submission.workflow_id, { open_gates: parents.size, linked });
    return parents.size > 0 ? 'waiting' : 'pending';
  });
}

async function submitInTurn(
  context: EngineContext,
  tx: Queryable,
  submissions: readonly Submission[],
): Promise<SubmitResult[]> {
  const results: SubmitResult[] = [];
  for (const submission of submissions) results.push(await submitOne(context, tx, submission));
  return results;
}

async function submitOne(context: EngineContext, tx: Queryable, submission: Submission): Promise<SubmitResult> {
  const { idempotency } = submission;
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
  const result = await storeDeduplicated(context, tx, submission);
  if (idempotency !== null) await answerIdempotencyKey(tx, ROUTE, idempotency.key, JSON.stringify(result));
  return result;
}

async function storeDeduplicated(
  context: EngineContext,
  tx: Queryable,
  submission: Submission,
): Promise<SubmitResult> {
  const duplicates = await deduplicate(context, tx, submission);
  const builder = new RowBuilder(context);
  await builder.prepare([submission]);
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
    builder.addWorkflow(submission, { tasks: created, ended: ended.length }, linked);
    const stored = await insertSubmissions(tx, builder.rows, context.now());
    now = stored.now;
    if (ended.length > 0) await announceEnded(tx, ended, context.now());
    context.signals.emit({ lanes: stored.lanes, deliveries: ended.length > 0 });
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

interface Parent {
  id: string;
  requires_success: boolean;
  /** Index within the submission where the parent is created by it. */
  index: number | null;
}

/** Works out gates and early ends of new tasks whose parents may be stored tasks, also ones that are over. */
class DependencyPlanner {
  readonly #tasks: readonly NewTask[];
  readonly #parents: Parent[][];
  readonly #fates = new Map<number, Fate>();
  #stored = new Map<string, ParentRow>();

  constructor(submission: Submission, duplicates: readonly (string | null)[]) {
    this.#tasks = submission.tasks;
    const indexOf = new Map(submission.tasks.map((task, index) => [task.id, index]));
    this.#parents = submission.tasks.map((task) => {
      const parents = new Map<string, Parent>();
      for (const dependency of task.dependencies) {
        const id =
          'index' in dependency
            ? (duplicates[dependency.index] ?? submission.tasks[dependency.index]!.id)
            : dependency.task_id;
        const known = parents.get(id);
        const requires = (known?.requires_success ?? false) || dependency.requires_success;
        parents.set(id, { id, requires_success: requires, index: indexOf.get(id) ?? null });
      }
      return [...parents.values()];
    });
  }

  storedParents(): string[] {
    return [...new Set(this.#parents.flat().flatMap((parent) => (parent.index === null ? [parent.id] : [])))];
  }

  learn(stored: Map<string, ParentRow>): void {
    this.#stored = stored;
  }

  hasEdges(): boolean {
    return this.#parents.some((parents) => parents.length > 0);
  }

  edgesOf(index: number): { p: string; c: string; r: boolean; x?: boolean; d?: boolean }[] {
    return this.#parents[index]!.map((parent) => {
      const edge = { p: parent.id, c: this.#tasks[index]!.id, r: parent.requires_success };
      if (parent.index !== null) return edge;
      return { ...edge, x: true, d: this.#isOver(parent.id) };
    });
  }

  /** Parents first, however deep: a stack of its own, since a chain may be longer than the call stack. */
  fateOf(index: number, linked: boolean): Fate {
    const stack = [index];
    while (stack.length > 0) {
      const at = stack.at(-1)!;
      const open = this.#parents[at]!.filter((parent) => parent.index !== null && !this.#fates.has(parent.index));
      if (open.length > 0) {
        for (const parent of open) stack.push(parent.index!);
        continue;
      }
      stack.pop();
      if (!this.#fates.has(at)) this.#fates.set(at, this.#decide(at, linked));
    }
    return this.#fates.get(index)!;
  }

  #decide(index: number, linked: boolean): Fate {
    let openGates = 0;
    for (const parent of this.#parents[index]!) {
      const failure = this.#failureOf(parent);
      if (failure !== null && parent.requires_success) {
        return { open_gates: this.#openGates(index), linked, ended: { state: TASK_STATE_CODE.failed, ...failure } };
      }
      if (this.#isOpen(parent)) openGates += 1;
    }
    return { open_gates: openGates, linked };
  }

  #openGates(index: number): number {
    return this.#parents[index]!.filter((parent) => this.#isOpen(parent)).length;
  }

  #isOpen(parent: Parent): boolean {
    if (parent.index !== null) return this.#fates.get(parent.index)!.ended === undefined;
    return !this.#isOver(parent.id);
  }

  #isOver(id: string): boolean {
    const stored = this.#stored.get(id);
    return stored === undefined || isTerminal(taskStateOf(stored.state));
  }

  #failureOf(parent: Parent): { reason: string; cause: string } | null {
    if (parent.index !== null) {
      const ended = this.#fates.get(parent.index)!.ended;
      return ended === undefined ? null : { reason: ended.reason, cause: ended.cause };
    }
    const stored = this.#stored.get(parent.id);
    if (stored === undefined) return { reason: `the task it depends on (${parent.id}) is gone`, cause: parent.id };
    const state = taskStateOf(stored.state);
    if (!isTerminal(state) || satisfiesRequiredSuccess(state)) return null;
    const how = state === 'canceled' ? 'was canceled' : state === 'timed_out' ? 'timed out' : 'failed';
    return {
      reason: `the task it depends on, "${stored.name.slice(0, 200)}" (${parent.id}), ${how}`,
      cause: stored.cause ?? parent.id,
    };
  }
}
