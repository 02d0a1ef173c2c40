import type { TaskId } from '@heddle/base/ids';
import { restingState } from './readiness.ts';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import { forEachTask } from './answer.ts';
import type { ModelOutcome } from './answer.ts';
import { propagate, isBroken } from './propagate.ts';
import { childrenOf, closeAttempt, isBadEnd, openGates, reopen, taskOf } from './state.ts';
import type { Model, ModelTask } from './state.ts';
import { reopenInTrees, treeIsOver } from './tree-reopen.ts';
import { settleTrees } from './tree-settle.ts';

const itself = (id: TaskId): TaskId => id;

/**
 * Cancels open tasks; an open attempt keeps its slots until its worker reports or its deadline passes. An attempt whose
 * start was never tried has no worker, and neither has one that waits for its nodes.
 */
export function cancel(model: Model, ids: readonly TaskId[], now: number): ModelOutcome[] {
  const ended: TaskId[] = [];
  const outcomes = forEachTask(model, ids, itself, (task, id) => {
    if (task.state === 'canceled') return 'unchanged';
    if (isTerminal(task.state)) return 'conflict';
    restartClock(task, now);
    if (task.expanding || (task.delivering && !task.start_tried)) closeAttempt(task);
    if (task.attempt_open) task.deadline_at ??= now + task.definition.timeout_secs * 1000;
    task.claim_expires_at = null;
    task.heard_at = now;
    task.state = 'canceled';
    ended.push(id);
    return 'applied';
  });
  propagate(model, ended);
  return outcomes;
}

export function pause(model: Model, ids: readonly TaskId[], now: number): ModelOutcome[] {
  return forEachTask(model, ids, itself, (task) => {
    if (task.state === 'paused') return 'unchanged';
    if (isTerminal(task.state)) return 'conflict';
    task.state = 'paused';
    task.paused_at = now;
    task.heard_at = now;
    return 'applied';
  });
}

/** Resumes a paused task: back to its open attempt, else to the state that its gates imply. */
export function resume(model: Model, ids: readonly TaskId[], now: number): ModelOutcome[] {
  return forEachTask(model, ids, itself, (task) => {
    if (task.state !== 'paused') return isTerminal(task.state) ? 'conflict' : 'unchanged';
    restartClock(task, now);
    if (task.claim_expires_at !== null) task.claim_expires_at = now + model.claim_timeout_ms;
    task.heard_at = now;
    if (task.attempt_open) task.state = task.expanding ? 'expanding' : task.started ? 'running' : 'claimed';
    else task.state = restingState(openGates(model, task));
    return 'applied';
  });
}

/** Extends the attempt's deadline by the length of the pause. */
export function restartClock(task: ModelTask, now: number): void {
  if (task.paused_at === null) return;
  const pausedMs = now - task.paused_at;
  if (task.deadline_at !== null) task.deadline_at += pausedMs;
  task.paused_at = null;
}

/**
 * Reopens failed tasks on an operator's request: the task, every descendant that failed only because of tasks that are
 * now open again, and the gates of those that were ready but had not started. Rejects a task that failed because of a
 * parent while that parent stays ended: retry the parent instead. In a tree all tasks must have ended, and what follows
 * the task runs again too.
 */
export function retry(model: Model, ids: readonly TaskId[]): ModelOutcome[] {
  const reopened = retryable(model, ids);
  const outcomes = forEachTask(model, ids, itself, (task, id) => {
    if (task.state === 'waiting' || task.state === 'pending') return 'unchanged';
    if (!reopened.has(id)) return 'conflict';
    if (task.place === null) reopen(task);
    task.run_at = null;
    return 'applied';
  });
  reopenInTrees(
    model,
    [...reopened].filter((id) => taskOf(model, id).place !== null),
  );
  reopenDescendants(model, reopened);
  settleTrees(model);
  for (const id of reopened) {
    const task = taskOf(model, id);
    if (task.place === null) task.state = restingState(openGates(model, task));
  }
  return outcomes.map((outcome) => ({ ...outcome, state: model.tasks.get(outcome.task_id)?.state ?? null }));
}

/** Returns the tasks of a set that can be reopened together: parents and children in one set enable each other. */
function retryable(model: Model, ids: readonly TaskId[]): Set<TaskId> {
  const ended = ids.filter((id) => isBadEnd(model.tasks.get(id)?.state));
  const chosen = new Set(ended.filter((id) => taskOf(model, id).place === null || treeIsOver(model, id)));
  for (;;) {
    const held = [...chosen].filter((id) => {
      const task = taskOf(model, id);
      return task.failed_by !== null && brokenParents(model, task).some((parent) => !chosen.has(parent));
    });
    if (held.length === 0) return chosen;
    for (const id of held) chosen.delete(id);
  }
}

function reopenDescendants(model: Model, reopened: ReadonlySet<TaskId>): void {
  let level = new Set(reopened);
  while (level.size > 0) {
    const next = new Set<TaskId>();
    for (const child of childrenOf(model, level)) {
      if (child.state === 'pending') child.state = 'waiting';
      if (child.failed_by === null || brokenParents(model, child).length > 0) continue;
      reopen(child);
      next.add(child.definition.id);
    }
    level = next;
  }
}

function brokenParents(model: Model, task: ModelTask): TaskId[] {
  return task.parents.filter((parent) => isBroken(model, parent)).map(({ parent_id }) => parent_id);
}
