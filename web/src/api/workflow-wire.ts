/** A workflow without its tree. Times are ISO 8601 strings. */
export interface Workflow {
  id: string;
  name: string | null;
  state: string;
  paused: boolean;
  task_count: number;
  remaining: number;
  created_at: string;
  ended_at: string | null;
  archived: boolean;
}

interface WireNodeBase {
  id: string;
  parent_id: string | null;
  local_id: string | null;
  position: number;
  policy: string;
  state: string;
  reason: string | null;
  started_at: string | null;
  ended_at: string | null;
}

/** Children by outcome. */
export interface WireCounts {
  children: number;
  open: number;
  succeeded: number;
  failed: number;
  timed_out: number;
  partially_failed: number;
  disabled: number;
  tolerated: number;
}

export interface WireContainer extends WireNodeBase {
  type: 'container';
  mode: 'sequential' | 'parallel';
  counts: WireCounts;
  fillers: number;
}

export interface WireTask extends WireNodeBase {
  type: 'task';
  name: string;
  kind: string;
  status: string;
  attempt: number;
  success: number;
  failures: number;
  expected_count: number | null;
  created_at: string;
  last_updated: string;
  generator_id: string | null;
  expansion: { expected: number | null; created: number } | null;
}

export interface WireTreeContainer extends WireContainer {
  children: WireTreeNode[];
  /** Number of children that this response omits. */
  children_omitted: number;
}

export type WireTreeNode = WireTreeContainer | WireTask;

export interface WorkflowTree extends Workflow {
  truncated: boolean;
  root: WireTreeContainer;
}

export interface ChildrenPage {
  container: WireContainer;
  children: (WireContainer | WireTask)[];
}

/** Nodes that changed. */
export interface TreeChange {
  workflow: Workflow;
  containers: WireContainer[];
  tasks: WireTask[];
}

/** The result of a task. */
export interface TaskResult {
  task_id: string;
  local_id: string | null;
  kind: string;
  state: string;
  data: unknown;
}
