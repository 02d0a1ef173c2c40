import { HeddleError } from '@heddle/base/errors';
import type { Task, TaskDetail, WorkflowSummary } from '@heddle/base/vocabulary/task';
import { BATCH_WIRE_STATE } from '@heddle/base/vocabulary/task-state';
import { WORKFLOW_WIRE_STATE } from '@heddle/base/vocabulary/workflow';
import type { Engine, TransitionOutcome } from '@heddle/core/engine/port';
import { invalidHandle } from '../handles.ts';

export function taskNotFound(id: string): HeddleError {
  return new HeddleError('NOT_FOUND', `No such task: ${id}`, { details: [`task_id: no task has the id ${id}`] });
}

export function batchNotFound(id: string): HeddleError {
  return new HeddleError('NOT_FOUND', `No such batch: ${id}`, { details: [`batch_id: no batch has the id ${id}`] });
}

export function workflowNotFound(id: string): HeddleError {
  return new HeddleError('NOT_FOUND', `No such workflow: ${id}`, {
    details: [`workflow_id: no workflow has the id ${id}`],
  });
}

/** Returns the workflow, or throws NOT_FOUND, also for a batch. */
export async function requireTree(engine: Engine, id: string): Promise<WorkflowSummary> {
  const workflow = await engine.getWorkflow(id);
  if (workflow === null) throw workflowNotFound(id);
  if (workflow.root_state !== null) return workflow;
  throw new HeddleError('NOT_FOUND', `${id} is a batch and has no tree`, {
    details: [`workflow_id: is a batch; see /v1/batches/${id}`],
  });
}

/** Returns the task, or throws NOT_FOUND. */
export async function requireTask(engine: Engine, id: string): Promise<TaskDetail> {
  const task = await engine.getTask(id);
  if (task === null) throw taskNotFound(id);
  return task;
}

/** Throws NOT_FOUND for an attempt that has not begun. */
export function requireAttempt(task: Pick<Task, 'attempt'>, attempt: number | null): void {
  if (attempt === null || attempt <= Math.max(task.attempt, 1)) return;
  throw new HeddleError('NOT_FOUND', `The task has had ${task.attempt} attempts; there is no attempt ${attempt}`, {
    details: [`attempt: must be at most ${task.attempt}, or absent`],
  });
}

/** States that only trees have use the names of trees: a generator that waits for its nodes, a skipped task. */
function statusOf(state: Task['state']): string {
  return state === 'expanding' || state === 'disabled' ? WORKFLOW_WIRE_STATE[state] : BATCH_WIRE_STATE[state];
}

const RETRY_REMEDY =
  '; a skipped task is reopened with the task that its reason names, and tasks of a workflow once all of it has ended ' +
  '(POST /v1/workflows/{workflow_id}/retry)';

export function conflictWith(state: Task['state'] | null, wanted: string, reason?: string): HeddleError {
  if (reason !== undefined) {
    return new HeddleError('CONFLICT', `The task cannot be ${wanted}: ${reason}`, { details: [`task_id: ${reason}`] });
  }
  const status = state === null ? 'in another state' : statusOf(state);
  return new HeddleError('CONFLICT', `The task is ${status}: it cannot be ${wanted}`, {
    details: [`status: is ${status}, which does not allow this${wanted === 'retried' ? RETRY_REMEDY : ''}`],
  });
}

/** Throws the error that a rejected transition means to its caller. `wanted` completes "it cannot be …". */
export function requireApplied(outcome: TransitionOutcome, wanted: string, byHandle: boolean): void {
  if (byHandle && outcome.result === 'stale_attempt') throw invalidHandle('is for an attempt that has ended');
  const rejection = rejectionOf(outcome, wanted);
  if (rejection !== null) throw rejection;
}

/**
 * Returns the error that a rejected transition means to its caller; null if it was applied.
 *
 * @param wanted completes "it cannot be …"
 * @param once whether a task that is already in that state is a conflict
 */
export function rejectionOf(outcome: TransitionOutcome, wanted: string, once = false): HeddleError | null {
  switch (outcome.result) {
    case 'unchanged':
      return once ? conflictWith(outcome.state, wanted) : null;
    case 'applied':
    case 'retrying':
      return null;
    case 'not_found':
      return taskNotFound(outcome.task_id);
    case 'not_started':
    case 'conflict':
      return conflictWith(outcome.state, wanted, outcome.reason);
    case 'stale_attempt':
      return new HeddleError('STALE_ATTEMPT', undefined, {
        details: ['attempt: is not the current attempt of the task'],
      });
  }
}
