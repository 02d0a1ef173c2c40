import type { TaskId, WorkflowId } from '@heddle/base/ids';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import { cancel, pause, resume } from './operate.ts';
import { isBadEnd } from './state.ts';
import type { Model, ModelTask } from './state.ts';
import { reopenInTrees } from './tree-reopen.ts';
import { settleTrees } from './tree-settle.ts';

/** Number of tasks an operation on a workflow changed; null: no such workflow; `conflict`: rejected. */
export type WorkflowAnswer = number | null | 'conflict';

/** The root container of a tree has the id of its workflow. */
function isTree(model: Model, id: string): boolean {
  return model.containers.has(id);
}

function tasksOf(model: Model, id: WorkflowId): ModelTask[] {
  return [...model.tasks.values()].filter((task) => task.workflow_id === id);
}

function openTasks(model: Model, id: WorkflowId): TaskId[] {
  return tasksOf(model, id)
    .filter((task) => !isTerminal(task.state))
    .map((task) => task.definition.id);
}

export function cancelWorkflow(model: Model, id: WorkflowId, now: number): WorkflowAnswer {
  if (!isTree(model, id)) return null;
  return cancel(model, openTasks(model, id), now).filter(({ result }) => result === 'applied').length;
}

export function pauseWorkflow(model: Model, id: WorkflowId, now: number): WorkflowAnswer {
  if (!isTree(model, id)) return null;
  if (openTasks(model, id).length > 0) model.paused.add(id);
  return pause(model, openTasks(model, id), now).filter(({ result }) => result === 'applied').length;
}

export function resumeWorkflow(model: Model, id: WorkflowId, now: number): WorkflowAnswer {
  if (!isTree(model, id)) return null;
  model.paused.delete(id);
  return resume(model, openTasks(model, id), now).filter(({ result }) => result === 'applied').length;
}

/** Reruns failed tasks and everything after them; counts the former. */
export function retryWorkflow(model: Model, id: WorkflowId): WorkflowAnswer {
  if (!isTree(model, id)) return null;
  if (openTasks(model, id).length > 0) return 'conflict';
  const bad = tasksOf(model, id).filter((task) => isBadEnd(task.state));
  reopenInTrees(
    model,
    bad.map((task) => task.definition.id),
  );
  settleTrees(model);
  return bad.length;
}
