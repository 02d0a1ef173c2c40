import type { TaskId, WorkflowId } from '@heddle/base/ids';
import { restingState } from './readiness.ts';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import { causeOfFailure, failByDependency, propagate } from './propagate.ts';
import { openGates, taskOf, tellOtherWorkflows } from './state.ts';
import type { Model, ModelTask } from './state.ts';

/**
 * Adds one workflow. A parent that ended before counts at once: closed, or broken, in which case the new task fails
 * without ever waiting.
 */
export function submit(model: Model, workflowId: WorkflowId, newTasks: readonly NewTask[], now: number): void {
  const added = newTasks.map((definition) => newModelTask(workflowId, definition, newTasks, now));
  for (const task of added) model.tasks.set(task.definition.id, task);

  const parents = added.flatMap((task) => task.parents.map(({ parent_id }) => parent_id));
  const endedBefore = new Set(parents.filter((id) => isTerminal(taskOf(model, id).state)));
  const causes = new Map<TaskId, TaskId>();
  for (const task of added) {
    const cause = causeOfFailure(model, task, endedBefore);
    if (cause !== null) causes.set(task.definition.id, cause);
  }
  for (const [id, cause] of causes) failByDependency(taskOf(model, id), cause);
  tellOtherWorkflows(model, endedBefore);
  propagate(model, causes.keys());

  for (const task of added) if (task.state === 'waiting') task.state = restingState(openGates(model, task));
}

/** Creates a task before its gates are checked. */
export function newModelTask(
  workflowId: WorkflowId,
  definition: NewTask,
  submission: readonly NewTask[],
  now: number,
): ModelTask {
  return {
    definition,
    workflow_id: workflowId,
    parents: definition.dependencies.map((dependency) => ({
      parent_id: 'task_id' in dependency ? dependency.task_id : submission[dependency.index]!.id,
      requires_success: dependency.requires_success,
    })),
    told_by: new Set(),
    state: 'waiting',
    attempt: 0,
    metadata: definition.metadata,
    success_count: 0,
    failure_count: 0,
    run_at: definition.delay_ms > 0 ? now + definition.delay_ms : null,
    attempt_open: false,
    started: false,
    deadline_at: null,
    claim_expires_at: null,
    delivering: false,
    start_tried: false,
    paused_at: null,
    failed_by: null,
    place: null,
    disabled_by: null,
    expanding: false,
    expected_created: null,
    lease_ms: null,
    heard_at: now,
  };
}
