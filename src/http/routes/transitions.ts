import { HeddleError } from '../../domain/errors.ts';
import type { Task, TaskDetail, WorkflowSummary } from '../../domain/task.ts';
import { BATCH_WIRE_STATE } from '../../domain/task-state.ts';
import { WORKFLOW_WIRE_STATE } from '../../domain/workflow.ts';
import type { Engine, TransitionOutcome } from '../../engine/port.ts';
import { invalidHandle } from '../handles.ts';

export function taskNotFound(id: string): HeddleError {
  return new HeddleError('NOT_FOUND', `There is no task ${id}`, { details: [`task_id: no task is ${id}`] });
}

export function batchNotFound(id: string): HeddleError {
  return new HeddleError('NOT_FOUND', `There is no batch ${id}`, { details: [`batch_id: no batch is ${id}`] });
}

export function workflowNotFound(id: string): HeddleError {
  return new HeddleError('NOT_FOUND', `There is no workflow ${id}`, { details: [`workflow_id: no workflow is ${id}`] });
}

/** The workflow, or NOT_FOUND; a batch is none. */
export async function requireTree(engine: Engine, id: string): Promise<WorkflowSummary> {
  const workflow = await engine.getWorkflow(id);
  if (workflow === null) throw workflowNotFound(id);
  if (workflow.root_state !== null) return workflow;
  throw new HeddleError('NOT_FOUND', `${id} is a batch, which has no tree`, {
    details: [`workflow_id: is a batch; see /v1/batches/${id}`],
  });
}

/** The task, or NOT_FOUND. */
export async function requireTask(engine: Engine, id: string): Promise<TaskDetail> {
  const task = await engine.getTask(id);
  if (task === null) throw taskNotFound(id);
  return task;
}

/** What only trees know is called by their names: a generator that is done but waits for its nodes, a task that was skipped. */
function statusOf(state: Task['state']): string {
  return state === 'expanding' || state === 'disabled' ? WORKFLOW_WIRE_STATE[state] : BATCH_WIRE_STATE[state];
}

const RETRY_REMEDY =
  '; what was skipped is re-opened with what its reason names, and tasks of a workflow once all of it has ended ' +
  '(POST /v1/workflows/{workflow_id}/retry)';

export function conflictWith(state: Task['state'] | null, wanted: string): HeddleError {
  const status = state === null ? 'in another state' : statusOf(state);
  return new HeddleError('CONFLICT', `The task is ${status}: it cannot be ${wanted}`, {
    details: [`status: is ${status}, which does not allow this${wanted === 'retried' ? RETRY_REMEDY : ''}`],
  });
}

/** Throws what a transition that was not applied means to its caller. `wanted` completes "it cannot be …". */
export function requireApplied(outcome: TransitionOutcome, wanted: string, byHandle: boolean): void {
  switch (outcome.result) {
    case 'applied':
    case 'retrying':
    case 'unchanged':
      return;
    case 'not_found':
      throw taskNotFound(outcome.task_id);
    case 'not_started':
    case 'conflict':
      throw conflictWith(outcome.state, wanted);
    case 'stale_attempt':
      if (byHandle) throw invalidHandle('speaks for an attempt that is over');
      throw new HeddleError('STALE_ATTEMPT', undefined, {
        details: ['attempt: is not the current attempt of the task'],
      });
  }
}
