import type { TaskId, WorkflowId } from '@heddle/base/ids';
import type { JsonValue } from '@heddle/base/json';
import type { TaskResult } from '@heddle/base/vocabulary/workflow';

/** Entry that a task stores under a name for the other tasks of its workflow. */
export interface SharedEntry {
  workflow_id: WorkflowId;
  name: string;
  task_id: TaskId;
  attempt: number;
  /** `data` is an array that becomes part of the list under this name. */
  list: boolean;
  data: JsonValue;
}

/** Data that the tasks of a workflow share; expressions read it as `data.NAME`. */
export interface SharedData {
  /**
   * Stores an entry; replaces an earlier one of the same task, and ignores one of an older attempt.
   *
   * @throws HeddleError CONFLICT if the name holds a list and this is a value, or vice versa
   */
  put(entry: SharedEntry): Promise<void>;
  /**
   * Yields what a node of a workflow left behind: the result of a task, or the results below a container by container
   * and position, page by page. Aborts with the signal.
   *
   * @param name the node's own name in the workflow
   * @throws HeddleError NOT_FOUND if the workflow has no such node
   */
  resultsOf(workflow_id: WorkflowId, name: string, signal: AbortSignal): AsyncIterable<TaskResult>;
}
