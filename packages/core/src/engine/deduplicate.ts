import { canonicalJson } from '@heddle/base/json';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { TASK_STATE_CODE } from '@heddle/base/vocabulary/task-state';
import type { Queryable } from '../store/database.ts';
import { findDuplicates, type DedupeProbe } from '../store/submissions.ts';
import type { EngineContext } from './context.ts';
import type { Submission } from './port.ts';
import { sortedFields, type Vocabulary } from './submission-rows.ts';

/** One lookup of a task's dedupe strategy, with the registered shape that answers it. */
export interface AskedProbe {
  taskIndex: number;
  shape: number;
  states: readonly number[];
  inRequestKey: string;
}

/**
 * Returns for each task of a submission the existing task that makes it unnecessary, or null. Tasks of the same
 * submission count in the order of the request. The keys stay locked until the transaction ends, so of two concurrent
 * submissions with one key the second sees the task of the first.
 */
export async function deduplicate(
  tx: Queryable,
  submission: Submission,
  asked: readonly AskedProbe[],
  vocabulary: Vocabulary,
): Promise<(string | null)[]> {
  const { tasks } = submission;
  if (asked.length === 0) return tasks.map(() => null);
  const kindIds = [...vocabulary.kinds.values()];
  const probes = asked.map((probe, n): DedupeProbe => {
    return { n, shape: probe.shape, metadata: tasks[probe.taskIndex]!.metadata, states: [...probe.states] };
  });
  const found = new Map<number, string | null>();
  for (const answer of await findDuplicates(tx, kindIds, probes)) found.set(answer.n, answer.task_id);

  const byTask = new Map<number, number[]>();
  for (const [n, probe] of asked.entries()) {
    const ofTask = byTask.get(probe.taskIndex);
    if (ofTask === undefined) byTask.set(probe.taskIndex, [n]);
    else ofTask.push(n);
  }
  const shapesOfKind = shapesByKind(asked, tasks);
  const created = new Map<string, { id: string; state: number }[]>();
  return tasks.map((task, index) => {
    for (const n of byTask.get(index) ?? []) {
      const stored = found.get(n);
      if (stored !== null && stored !== undefined) return stored;
      const earlier = created
        .get(asked[n]!.inRequestKey)
        ?.find((candidate) => asked[n]!.states.includes(candidate.state));
      if (earlier !== undefined) return earlier.id;
    }
    const state = task.dependencies.length > 0 ? TASK_STATE_CODE.waiting : TASK_STATE_CODE.pending;
    for (const fields of shapesOfKind.get(task.kind) ?? []) {
      const key = requestKey(task.kind, fields, task);
      const same = created.get(key);
      if (same === undefined) created.set(key, [{ id: task.id, state }]);
      // One task per state suffices: a later task can repeat no more.
      else if (same.every((earlier) => earlier.state !== state)) same.push({ id: task.id, state });
    }
    return null;
  });
}

/** Returns the lookups of these tasks in order; registers new shapes, so it runs before the transaction. */
export async function probesOf(
  context: EngineContext,
  tasks: readonly NewTask[],
  vocabulary: Vocabulary,
): Promise<AskedProbe[]> {
  const asked: AskedProbe[] = [];
  for (const [taskIndex, task] of tasks.entries()) {
    for (const matcher of task.dedupe) {
      const fields = sortedFields(matcher.fields);
      asked.push({
        taskIndex,
        shape: await context.kinds.dedupeShape(vocabulary.kinds.get(matcher.kind)!, fields),
        states: matcher.states.map((state) => TASK_STATE_CODE[state]),
        inRequestKey: requestKey(matcher.kind, fields, task),
      });
    }
  }
  return asked;
}

function shapesByKind(asked: readonly AskedProbe[], tasks: readonly NewTask[]): Map<string, string[][]> {
  const shapes = new Map<string, Map<string, string[]>>();
  for (const { taskIndex } of asked) {
    for (const matcher of tasks[taskIndex]!.dedupe) {
      const fields = sortedFields(matcher.fields);
      const ofKind = shapes.get(matcher.kind) ?? new Map<string, string[]>();
      shapes.set(matcher.kind, ofKind.set(JSON.stringify(fields), fields));
    }
  }
  return new Map([...shapes].map(([kind, ofKind]) => [kind, [...ofKind.values()]]));
}

function requestKey(kind: string, fields: readonly string[], task: NewTask): string {
  const values = fields.map((field) => (Object.hasOwn(task.metadata, field) ? task.metadata[field]! : null));
  return `${kind}\n${JSON.stringify(fields)}\n${canonicalJson(values)}`;
}
