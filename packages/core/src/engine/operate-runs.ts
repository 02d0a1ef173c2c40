import { HeddleError } from '@heddle/base/errors';
import {
  findOperatedRuns,
  findTasksOfRuns,
  pauseRuns,
  type OperatedRun,
  type TaskChoice,
} from '../store/run-operations.ts';
import { cancelTasks, retryTasks, type Moved } from '../store/transitions.ts';
import type { EngineContext } from './context.ts';
import type { RunOperation, RunOutcome } from './port.ts';
import { outcomesOf } from './report.ts';
import { openAttempts, recordEnds } from './traces/attempts.ts';

/** Tasks of one transition: runs are taken together up to this number, and a larger one by itself. */
const TASKS_AT_ONCE = 20_000;
const APPLIED = 0;

/** How many tasks changed, by run. */
type Changes = ReadonlyMap<string, number>;

interface Operation {
  change: (context: EngineContext, runs: readonly string[]) => Promise<Changes>;
  /** Why nothing of a run changed. */
  nothing: (run: OperatedRun) => string;
}

const ENDED = 'The run has ended';
const isEnded = ({ remaining }: OperatedRun): boolean => remaining === 0;

const OPERATIONS: Readonly<Record<RunOperation, Operation>> = {
  cancel: { change: (context, runs) => changeTasks(context, runs, 'open', cancelOpen), nothing: () => ENDED },
  pause: {
    change: (context, runs) => setPaused(context, runs, true),
    nothing: (run) => (isEnded(run) ? ENDED : 'All of its unfinished tasks are paused already'),
  },
  resume: {
    change: (context, runs) => setPaused(context, runs, false),
    nothing: (run) => (isEnded(run) ? ENDED : 'None of its tasks is paused'),
  },
  retry: {
    change: (context, runs) => changeTasks(context, runs, 'unsuccessful', reopen),
    nothing: (run) => openTasksOf(run) ?? 'None of its tasks has failed, timed out or was canceled',
  },
};

/** Why a workflow cannot be retried yet; null: it can. */
function openTasksOf({ is_tree, remaining }: OperatedRun): string | null {
  if (!is_tree || remaining === 0) return null;
  return `${remaining} tasks of the workflow have not ended; wait for them, or cancel the workflow`;
}

/** Changes runs, each as a whole; a run that cannot change does not affect the others. */
export async function operateRuns(
  context: EngineContext,
  ids: readonly string[],
  operation: RunOperation,
): Promise<RunOutcome[]> {
  const { change, nothing } = OPERATIONS[operation];
  const found = new Map((await findOperatedRuns(context.database, ids)).map((run) => [run.id, run]));
  const able = [...found.values()].filter((run) => operation !== 'retry' || openTasksOf(run) === null);
  const changed = new Map<string, number>();
  for (const runs of groupsOf(able)) for (const [id, tasks] of await change(context, runs)) changed.set(id, tasks);
  return ids.map((id) => {
    const tasks = changed.get(id) ?? 0;
    const run = found.get(id);
    return { id, tasks, reason: tasks > 0 ? null : run === undefined ? 'No such run' : nothing(run) };
  });
}

/**
 * Changes a run as a whole; returns the number of its tasks that changed, or null if there is no such run.
 *
 * @throws HeddleError CONFLICT if tasks of a workflow to be retried are open
 */
export async function operateRun(context: EngineContext, id: string, operation: RunOperation): Promise<number | null> {
  const [run] = await findOperatedRuns(context.database, [id]);
  if (run === undefined) return null;
  const obstacle = operation === 'retry' ? openTasksOf(run) : null;
  if (obstacle !== null) throw new HeddleError('CONFLICT', obstacle);
  return (await OPERATIONS[operation].change(context, [id])).get(id) ?? 0;
}

/** Runs whose tasks are changed in one transition. */
function groupsOf(runs: readonly OperatedRun[]): string[][] {
  const groups: string[][] = [];
  let size = Infinity;
  for (const { id, task_count } of runs) {
    if (size + task_count > TASKS_AT_ONCE) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1)!.push(id);
    size += task_count;
  }
  return groups;
}

async function changeTasks(
  context: EngineContext,
  runs: readonly string[],
  choice: TaskChoice,
  transition: (context: EngineContext, ids: readonly string[]) => Promise<Moved>,
): Promise<Changes> {
  const tasks = await findTasksOfRuns(context.database, runs, choice);
  const changes = new Map<string, number>();
  if (tasks.length === 0) return changes;
  const moved = await transition(
    context,
    tasks.map(({ id }) => id),
  );
  await context.observer.moved({ ...moved, codes: null });
  for (const [index, { workflow_id: id }] of tasks.entries()) {
    if ((moved.codes?.[index] ?? APPLIED) === APPLIED) changes.set(id, (changes.get(id) ?? 0) + 1);
  }
  return changes;
}

async function cancelOpen(context: EngineContext, ids: readonly string[]): Promise<Moved> {
  const open = await openAttempts(context, ids);
  const moved = await cancelTasks(context.database, ids, 'its run was canceled', context.now());
  recordEnds(
    context,
    open,
    outcomesOf(ids, moved, () => 'canceled'),
    () => ({ outcome: 'canceled' }),
  );
  return moved;
}

/** Archived tasks included. */
function reopen(context: EngineContext, ids: readonly string[]): Promise<Moved> {
  return context.database.transaction((tx) => retryTasks(tx, ids, context.now()));
}

async function setPaused(context: EngineContext, ids: readonly string[], paused: boolean): Promise<Changes> {
  const moved = await pauseRuns(context.database, ids, paused, context.now());
  if (moved === null) return new Map();
  const { runs, ...others } = moved;
  await context.observer.moved({ ...others, codes: null });
  return new Map(runs?.map(({ id, tasks }) => [id, tasks]));
}
