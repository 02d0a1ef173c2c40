import {
  findOperatedRuns,
  findTasksOfRuns,
  setRunsPaused,
  type OperatedRun,
  type TaskChoice,
} from '../store/run-operations.ts';
import type { EngineContext } from './context.ts';
import { cancel, pause, resume } from './operate.ts';
import type { RunOperation, RunOutcome, TransitionOutcome } from './port.ts';
import { retry } from './retry.ts';

/** Tasks of one transition: runs are taken together up to this number, and a larger one by itself. */
const TASKS_AT_ONCE = 20_000;

interface Operation {
  choice: TaskChoice;
  run: (context: EngineContext, ids: readonly string[]) => Promise<TransitionOutcome[]>;
  /** Why a run with these numbers does not change; null: it may. */
  refusal: (run: OperatedRun) => string | null;
  /** What is said of a run without tasks that can change. */
  nothing: string;
}

const ended = ({ remaining }: OperatedRun): string | null => (remaining === 0 ? 'The run has ended' : null);

const OPERATIONS: Readonly<Record<RunOperation, Operation>> = {
  cancel: {
    choice: 'open',
    run: (context, ids) => cancel(context, ids, 'its run was canceled'),
    refusal: ended,
    nothing: 'The run has ended',
  },
  pause: { choice: 'unpaused', run: pause, refusal: ended, nothing: 'All of its unfinished tasks are paused already' },
  resume: { choice: 'paused', run: resume, refusal: ended, nothing: 'None of its tasks is paused' },
  retry: {
    choice: 'unsuccessful',
    run: (context, ids) => retry(context, ids),
    refusal: ({ is_tree, remaining }) =>
      is_tree && remaining > 0
        ? `${remaining} tasks of the workflow have not ended; wait for them, or cancel the workflow`
        : null,
    nothing: 'None of its tasks has failed, timed out or was canceled',
  },
};

/** Changes runs, each as a whole; a run that cannot change does not affect the others. */
export async function operateRuns(
  context: EngineContext,
  ids: readonly string[],
  operation: RunOperation,
): Promise<RunOutcome[]> {
  const { choice, run, refusal, nothing } = OPERATIONS[operation];
  const found = new Map((await findOperatedRuns(context.database, ids)).map((each) => [each.id, each]));
  const refused = new Map<string, string>();
  const open: OperatedRun[] = [];
  for (const id of new Set(ids)) {
    const known = found.get(id);
    const reason = known === undefined ? 'No such run' : refusal(known);
    if (reason === null) open.push(known!);
    else refused.set(id, reason);
  }
  const changed = new Map<string, number>();
  for (const group of groupsOf(open)) {
    const runs = group.map(({ id }) => id);
    if (operation === 'pause' || operation === 'resume') {
      await setRunsPaused(context.database, runs, operation === 'pause');
    }
    const tasks = await findTasksOfRuns(context.database, runs, choice);
    const runOf = new Map(tasks.map(({ id, workflow_id }) => [id, workflow_id]));
    for (const { task_id, result } of await run(context, [...runOf.keys()])) {
      if (result !== 'applied') continue;
      const id = runOf.get(task_id)!;
      changed.set(id, (changed.get(id) ?? 0) + 1);
    }
  }
  return ids.map((id) => {
    const tasks = changed.get(id) ?? 0;
    return { id, tasks, reason: tasks > 0 ? null : (refused.get(id) ?? nothing) };
  });
}

/** Runs whose tasks are changed in one transition. */
function groupsOf(runs: readonly OperatedRun[]): OperatedRun[][] {
  const groups: OperatedRun[][] = [];
  let size = Infinity;
  for (const run of runs) {
    if (size + run.task_count > TASKS_AT_ONCE) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1)!.push(run);
    size += run.task_count;
  }
  return groups;
}
