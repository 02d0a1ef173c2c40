import type { TaskId } from '@heddle/base/ids';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { Model, ModelTask } from './state.ts';

/** Result codes of the engine for a transition. */
export type ModelResult =
  'applied' | 'retrying' | 'unchanged' | 'conflict' | 'not_started' | 'stale_attempt' | 'not_found';

export interface ModelOutcome {
  task_id: TaskId;
  result: ModelResult;
  /** State after the transition; null if there is no such task. */
  state: TaskState | null;
}

/** Applies one transition to each named task in order; the caller propagates afterwards, once for the whole set. */
export function forEachTask<Item>(
  model: Model,
  items: readonly Item[],
  idOf: (item: Item) => TaskId,
  transition: (task: ModelTask, item: Item) => ModelResult,
): ModelOutcome[] {
  return items.map((item) => {
    const task = model.tasks.get(idOf(item));
    if (task === undefined) return { task_id: idOf(item), result: 'not_found', state: null };
    const result = transition(task, item);
    return { task_id: idOf(item), result, state: task.state };
  });
}
