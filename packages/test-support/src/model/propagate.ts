import type { TaskId } from '@heddle/base/ids';
import { gateOf, restingState } from './readiness.ts';
import { childrenOf, openGates, taskOf, tellOtherWorkflows } from './state.ts';
import type { Model, ModelParent, ModelTask } from './state.ts';
import { settleTrees } from './tree-settle.ts';

/**
 * Propagates the ends of tasks to their children. Failures go first, level by level: a child that has not started fails
 * if one of these parents broke its gate. Then each waiting child becomes pending if its last gate is closed. Children
 * that started or ended stay unchanged. Then the trees advance.
 */
export function propagate(model: Model, ended: Iterable<TaskId>): void {
  const told = new Set(ended);
  let level = new Set(told);
  while (level.size > 0) {
    const failed = new Set<TaskId>();
    for (const child of childrenOf(model, level)) {
      const cause = isHeldByGates(child) ? causeOfFailure(model, child, level) : null;
      if (cause === null) continue;
      failByDependency(child, cause);
      failed.add(child.definition.id);
      told.add(child.definition.id);
    }
    level = failed;
  }
  for (const child of childrenOf(model, told)) {
    if (child.state === 'waiting') child.state = restingState(openGates(model, child));
  }
  tellOtherWorkflows(model, told);
  settleTrees(model);
}

function isHeldByGates(task: ModelTask): boolean {
  return task.state === 'waiting' || (task.state === 'paused' && !task.attempt_open);
}

/**
 * Returns the ancestor to blame if parents among `ended` broke their gates to `child`: the root of the failure; of
 * several such parents the oldest counts.
 */
export function causeOfFailure(model: Model, child: ModelTask, ended: ReadonlySet<TaskId>): TaskId | null {
  const broken = child.parents
    .filter(({ parent_id }) => ended.has(parent_id))
    .filter((parent) => isBroken(model, parent))
    .map(({ parent_id }) => parent_id)
    .sort();
  const first = broken[0];
  return first === undefined ? null : (taskOf(model, first).failed_by ?? first);
}

/** Returns whether a parent ended without the success that its child requires. */
export function isBroken(model: Model, { parent_id, requires_success }: ModelParent): boolean {
  const { state, definition, place } = taskOf(model, parent_id);
  return gateOf(state, requires_success, place?.policy ?? definition.policy) === 'broken';
}

export function failByDependency(task: ModelTask, cause: TaskId): void {
  task.state = 'failed';
  task.failed_by = cause;
  task.paused_at = null;
}
