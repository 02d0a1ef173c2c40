import type { TaskId } from '../ids.ts';
import { gateOf, restingState } from '../readiness.ts';
import { childrenOf, openGates, taskOf } from './state.ts';
import type { Model, ModelTask } from './state.ts';

/**
 * Tells the children of tasks that just ended, level by level. A child that has not started fails where a parent of this
 * level broke its gate, and is pending once its last gate is closed. Whoever started, or ended, goes on as it is.
 */
export function propagate(model: Model, ended: Iterable<TaskId>): void {
  let level = new Set(ended);
  while (level.size > 0) {
    const failed = new Set<TaskId>();
    for (const child of childrenOf(model, level)) {
      if (!isHeldByGates(child)) continue;
      const cause = causeOfFailure(model, child, level);
      if (cause !== null) {
        failByDependency(child, cause);
        failed.add(child.definition.id);
      } else if (child.state === 'waiting') {
        child.state = restingState(openGates(model, child));
      }
    }
    level = failed;
  }
}

function isHeldByGates(task: ModelTask): boolean {
  return task.state === 'waiting' || (task.state === 'paused' && !task.attempt_open);
}

/** The ancestor to blame where a parent among `ended` broke its gate to `child`: the root of the failure, not its bearer. */
export function causeOfFailure(model: Model, child: ModelTask, ended: ReadonlySet<TaskId>): TaskId | null {
  const causes = child.parents
    .filter(({ parent_id }) => ended.has(parent_id))
    .filter(({ parent_id, requires_success }) => gateOf(taskOf(model, parent_id).state, requires_success) === 'broken')
    .map(({ parent_id }) => taskOf(model, parent_id).failed_by ?? parent_id);
  return causes.sort()[0] ?? null;
}

export function failByDependency(task: ModelTask, cause: TaskId): void {
  task.state = 'failed';
  task.failed_by = cause;
  task.paused_at = null;
}
