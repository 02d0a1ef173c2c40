import { findRunnersOfTasks } from '../../store/runner-tasks.ts';
import type { EngineContext } from '../context.ts';
import type { ClaimedTask } from '../port.ts';

/** Adds to each claimed task the list of its runners. */
export async function withRunners(context: EngineContext, tasks: readonly ClaimedTask[]): Promise<ClaimedTask[]> {
  if (tasks.length === 0) return [];
  const rows = await findRunnersOfTasks(context.database, tasks);
  const runnersOf = Map.groupBy(rows, ({ task_id }) => task_id);
  return tasks.map((task) => {
    const runners = runnersOf.get(task.id);
    return runners === undefined ? task : { ...task, runners: runners.map(({ task_id: _task, ...runner }) => runner) };
  });
}
