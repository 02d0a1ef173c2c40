import type { TaskId } from '@heddle/base/ids';
import { restingState } from './readiness.ts';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import { forEachTask } from './answer.ts';
import type { ModelOutcome } from './answer.ts';
import { propagate, isBroken } from './propagate.ts';
import { childrenOf, closeAttempt, copyModel, isBadEnd, openGates, reopen, taskOf } from './state.ts';
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

/**
 * Reopens ended tasks with everything after them, also what succeeded: in a batch all that depends on them, in a tree
 * what a retry reopens with them. Counters of all of it begin again. Rejects a task before an open attempt, and one whose
 * generators would create their nodes again.
 */
export function retryAfter(model: Model, ids: readonly TaskId[]): ModelOutcome[] {
  const { chosen, after } = rerunnable(model, ids);
  const outcomes = forEachTask(model, ids, itself, (task, id) => {
    if (task.state === 'waiting' || task.state === 'pending') return 'unchanged';
    return chosen.has(id) ? 'applied' : 'conflict';
  });
  const reopened = reopenInTrees(
    model,
    [...chosen].filter((id) => taskOf(model, id).place !== null),
  );
  const inBatches = [...chosen, ...after].map((id) => taskOf(model, id)).filter(({ place }) => place === null);
  for (const task of inBatches) {
    if (!isTerminal(task.state)) continue;
    reopen(task);
    reopened.add(task.definition.id);
    if (chosen.has(task.definition.id)) task.run_at = null;
  }
  for (const id of reopened) {
    const task = taskOf(model, id);
    task.success_count = 0;
    task.failure_count = 0;
  }
  for (const child of childrenOf(model, reopened)) if (child.state === 'pending') child.state = 'waiting';
  settleTrees(model);
  for (const task of inBatches) {
    if (reopened.has(task.definition.id)) task.state = restingState(openGates(model, task));
  }
  return outcomes.map((outcome) => ({ ...outcome, state: model.tasks.get(outcome.task_id)?.state ?? null }));
}

/** Returns the tasks of a set that can run again with what is after them, and what is after those of batches. */
function rerunnable(model: Model, ids: readonly TaskId[]): { chosen: Set<TaskId>; after: Set<TaskId> } {
  const ended = ids.flatMap((id) => model.tasks.get(id) ?? []).filter(({ state }) => isTerminal(state));
  const chosen = new Set(
    ended
      .filter(({ state }) => state !== 'disabled')
      .map(({ definition }) => definition.id)
      .filter((id) => taskOf(model, id).place === null || (treeIsOver(model, id) && !createsAgain(model, id))),
  );
  for (;;) {
    const inBatches = new Set([...chosen].filter((id) => taskOf(model, id).place === null));
    const after = tasksAfter(model, inBatches);
    const refused = [...inBatches].filter((id) => {
      const task = taskOf(model, id);
      const held =
        task.failed_by !== null &&
        brokenParents(model, task).some((parent) => !inBatches.has(parent) && !after.has(parent));
      const open = [...tasksAfter(model, new Set([id]), after)].some((below) => {
        const { state, attempt_open } = taskOf(model, below);
        return attempt_open && !isTerminal(state);
      });
      return held || open;
    });
    if (refused.length === 0) return { chosen, after };
    for (const id of refused) chosen.delete(id);
  }
}

/** Returns what depends on tasks of batches, without what stays ended because of another parent, and what is only after that. */
function tasksAfter(model: Model, ids: ReadonlySet<TaskId>, within: ReadonlySet<TaskId> | null = null): Set<TaskId> {
  const held = new Set<TaskId>();
  for (;;) {
    const reached = new Set<TaskId>();
    let level: ReadonlySet<TaskId> = ids;
    while (level.size > 0) {
      const next = new Set<TaskId>();
      for (const child of model.tasks.values()) {
        const { id } = child.definition;
        const depends = child.parents.some(
          ({ parent_id }) => level.has(parent_id) && taskOf(model, parent_id).workflow_id === child.workflow_id,
        );
        if (!depends || reached.has(id) || ids.has(id) || held.has(id)) continue;
        if (within !== null && !within.has(id)) continue;
        reached.add(id);
        next.add(id);
      }
      level = next;
    }
    if (within !== null) return reached;
    const more = [...reached].filter((id) =>
      brokenParents(model, taskOf(model, id)).some((parent) => !ids.has(parent) && !reached.has(parent)),
    );
    if (more.length === 0) return reached;
    for (const id of more) held.add(id);
  }
}

/** Returns whether a generator that has created nodes runs again with a task of a tree. */
function createsAgain(model: Model, id: TaskId): boolean {
  const reopened = reopenInTrees(copyModel(model), [id]);
  const makers = [...model.tasks.values()].map(({ place }) => place?.generator_id ?? null);
  for (const { generator_id } of model.containers.values()) makers.push(generator_id);
  return makers.some((maker) => maker !== null && reopened.has(maker));
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
