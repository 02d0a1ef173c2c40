import type { CompletionPolicy } from './completion-policy.ts';
import type { ContainerId, TaskId, WorkflowId } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import type { NewTask, Task, WorkflowSummary } from './task.ts';
import { TASK_STATES, type ContainerState, type TaskState } from './task-state.ts';

export { COMPLETION_POLICIES, COMPLETION_POLICY_CODE, policyOf, tolerates } from './completion-policy.ts';
export type { CompletionPolicy } from './completion-policy.ts';

/** How the children of a container run: in sequence or in parallel. */
export const CONTAINER_MODE_CODE = { sequential: 0, parallel: 1 } as const;

export type ContainerMode = keyof typeof CONTAINER_MODE_CODE;

/** Validated node of a tree to store. */
export type NewNode = NewContainerNode | NewTaskNode;

export interface NewContainerNode {
  type: 'container';
  id: ContainerId;
  /** Submitter's own name for it, unique within the workflow. */
  local_id: string | null;
  mode: ContainerMode;
  policy: CompletionPolicy;
  children: readonly NewNode[];
}

export interface NewTaskNode {
  type: 'task';
  policy: CompletionPolicy;
  /** Skipped: it never runs and does not count. */
  disabled: boolean;
  /** It may create nodes in other containers than its own; an empty container beside it waits for it. */
  generates: boolean;
  /** Without dependencies: the tree defines the order. */
  task: NewTask;
}

/** Container as the store returns it. Times are milliseconds since the epoch. */
export interface Container {
  id: ContainerId;
  workflow_id: WorkflowId;
  parent_id: ContainerId | null;
  local_id: string | null;
  position: number;
  mode: ContainerMode;
  policy: CompletionPolicy;
  state: ContainerState;
  /** Number of children by end; `open` have not ended. */
  counts: ChildCounts;
  /** Generators elsewhere in the workflow that may still add children. */
  open_generators: number;
  reason: string | null;
  started_at: number | null;
  ended_at: number | null;
}

export interface ChildCounts {
  children: number;
  open: number;
  succeeded: number;
  failed: number;
  timed_out: number;
  partially_failed: number;
  disabled: number;
  /** Failures tolerated by the children's policies. */
  tolerated: number;
}

/** Task with its position in the tree. */
export interface TreeTask extends Task {
  container_id: ContainerId;
  position: number;
  policy: CompletionPolicy;
  /** Task that created it; null if it was submitted with the workflow. */
  generator_id: TaskId | null;
  /** For a generator: number of messages announced (null until it has) and of existing nodes. */
  expansion: { expected: number | null; created: number } | null;
}

/**
 * Returns the state of a container without open children. `stopped`: a sequence met an end that its policy does not
 * tolerate. A partial failure is half a success: a container with one has not failed entirely.
 */
export function derivedState(counts: ChildCounts, stopped: boolean): Exclude<ContainerState, 'waiting' | 'running'> {
  if (stopped) return 'failed';
  if (counts.tolerated > 0) return 'partially_failed';
  const counted = counts.children - counts.disabled;
  if (counted === 0) return counts.children === 0 ? 'succeeded' : 'disabled';
  if (counts.succeeded === 0 && counts.partially_failed === 0) {
    return counts.timed_out === counted ? 'timed_out' : 'failed';
  }
  return counts.succeeded === counted ? 'succeeded' : 'partially_failed';
}

/** Counts the nodes of a tree, its root included. */
export function countNodes(root: NewNode): number {
  let count = 0;
  const pending: NewNode[] = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    count += 1;
    if (node.type === 'container') for (const child of node.children) pending.push(child);
  }
  return count;
}

/** Yields every task of a tree, in no particular order. */
export function tasksIn(root: NewNode): NewTask[] {
  const tasks: NewTask[] = [];
  const pending: NewNode[] = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === 'task') tasks.push(node.task);
    else for (const child of node.children) pending.push(child);
  }
  return tasks;
}

/** State names of the Task Manager's messages. */
export type WorkflowWireState =
  'Pending' | 'Running' | 'PendingTaskCreation' | 'Succeeded' | 'Failed' | 'Timeout' | 'PartiallyFailed' | 'Disabled';

/** Maps internal states to Task Manager wire states; total, so that a new state cannot be forgotten. */
export const WORKFLOW_WIRE_STATE = {
  waiting: 'Pending',
  pending: 'Pending',
  claimed: 'Running',
  running: 'Running',
  expanding: 'PendingTaskCreation',
  paused: 'Pending',
  succeeded: 'Succeeded',
  failed: 'Failed',
  timed_out: 'Timeout',
  partially_failed: 'PartiallyFailed',
  canceled: 'Failed',
  disabled: 'Disabled',
} as const satisfies Record<TaskState, WorkflowWireState>;

const CONTAINER_STATES = [
  'waiting',
  'running',
  'succeeded',
  'failed',
  'timed_out',
  'partially_failed',
  'disabled',
] as const satisfies readonly ContainerState[];

/** Returns the container states of one wire state: the derived inverse that list filters use. */
export function statesOfWorkflowWire(wire: WorkflowWireState): ContainerState[] {
  return CONTAINER_STATES.filter((state) => WORKFLOW_WIRE_STATE[state] === wire);
}

/** Returns the node states, those of tasks included, of one wire state. */
export function nodeStatesOfWorkflowWire(wire: WorkflowWireState): TaskState[] {
  return TASK_STATES.filter((state) => WORKFLOW_WIRE_STATE[state] === wire);
}

export const CONTAINER_MODES = Object.keys(CONTAINER_MODE_CODE) as readonly ContainerMode[];

export function modeOf(code: number): ContainerMode {
  const mode = CONTAINER_MODES.find((name) => CONTAINER_MODE_CODE[name] === code);
  if (mode === undefined) throw new Error(`unknown container mode code ${code}`);
  return mode;
}

/** Whole tree of a workflow as a flat list: children name their parents and are ordered by position. */
export interface WorkflowTree {
  containers: Container[];
  tasks: TreeTask[];
}

/** Part of a tree to read; all of it by default. */
export interface TreeOptions {
  /** Levels below the root; 0 is the root alone. */
  depth?: number;
  /** False: containers only. */
  tasks?: boolean;
  /** False: tasks have empty metadata. */
  inputs?: boolean;
  /** Maximum number of nodes: those nearest to the root, and of a container its first children. */
  nodes_max?: number;
}

/** Container with some of its children. */
export interface TreePage {
  container: Container;
  containers: Container[];
  tasks: TreeTask[];
}

/** Nodes of a tree that changed since a cursor, for live views; tasks have empty metadata. */
export interface TreeChanges {
  workflow: WorkflowSummary;
  tree: WorkflowTree;
  /** Cursor for the next call; some nodes may be repeated, none is missed. */
  cursor: number;
}

/** Result of a task. */
export interface TaskResult {
  task_id: TaskId;
  local_id: string | null;
  kind: string;
  state: TaskState;
  data: JsonValue;
}
