import type { TaskId, WorkflowId } from '../../domain/ids.ts';
import type { JsonValue } from '../../domain/json.ts';
import type { TaskResult } from '../../domain/workflow.ts';

/** What a task puts under a name for the other tasks of its workflow. */
export interface SharedEntry {
  workflow_id: WorkflowId;
  name: string;
  task_id: TaskId;
  attempt: number;
  /** `data` is an array, and a part of the list under this name. */
  list: boolean;
  data: JsonValue;
}

/** Data that the tasks of a workflow share; expressions read it as `data.NAME`. */
export interface SharedData {
  /**
   * Puts an entry; the same task's earlier one is replaced, an older attempt's does nothing.
   *
   * @throws HeddleError CONFLICT where a list stands under the name and this is a value, or the other way round
   */
  put(entry: SharedEntry): Promise<void>;
  /**
   * What a node of a workflow left: a task its result, a container the results below it, by container and position, page
   * by page. Aborts with the signal.
   *
   * @param name the node's own name in the workflow
   * @throws HeddleError NOT_FOUND where the workflow has no such node
   */
  resultsOf(workflow_id: WorkflowId, name: string, signal: AbortSignal): AsyncIterable<TaskResult>;
}
