import type { ContainerId, TaskId, WorkflowId } from '@heddle/base/ids';
import type { JsonObject } from '@heddle/base/json';
import { countOpenGates } from './readiness.ts';
import { runOutcome, type RunCounts } from '@heddle/base/vocabulary/run';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { isTerminal, satisfiesRequiredSuccess } from '@heddle/base/vocabulary/task-state';
import type { ContainerState, TaskState, TerminalState } from '@heddle/base/vocabulary/task-state';
import type { CompletionPolicy, ContainerMode } from '@heddle/base/vocabulary/workflow';
import { isSealed } from './tree.ts';

/**
 * Reference model of the engine: the same answers as the database, from code that is obvious rather than fast. It keeps
 * no counters: open gates are counted over the parents, used slots over the tasks, and children over their containers
 * on every use.
 */
export interface Model {
  readonly tasks: Map<TaskId, ModelTask>;
  readonly containers: Map<ContainerId, ModelContainer>;
  /** Workflows of which nothing starts until they are resumed. */
  readonly paused: Set<WorkflowId>;
  /** Lease of a claim while no delivery is being sent, milliseconds. */
  readonly claim_timeout_ms: number;
}

export interface ModelParent {
  readonly parent_id: TaskId;
  readonly requires_success: boolean;
}

/** Id of a node of a tree: a task's or a container's. */
export type NodeId = string;

export interface ModelContainer {
  readonly id: ContainerId;
  readonly workflow_id: WorkflowId;
  readonly parent_id: ContainerId | null;
  readonly local_id: string | null;
  readonly mode: ContainerMode;
  readonly policy: CompletionPolicy;
  readonly generator_id: TaskId | null;
  /** Latest attempt of the generator that created it. */
  generator_attempt: number | null;
  state: ContainerState;
  /** In order. */
  children: readonly NodeId[];
  /** Generators elsewhere that can add children, ended ones included. */
  open_generators: ReadonlySet<TaskId>;
  /** Node whose end stopped the sequence before it got here. */
  disabled_by: NodeId | null;
}

/** Position of a task in its workflow's tree. */
export interface TreePlace {
  readonly container_id: ContainerId;
  readonly policy: CompletionPolicy;
  /** Submitted as skipped. */
  readonly disabled: boolean;
  readonly generates: boolean;
  readonly generator_id: TaskId | null;
  /** Latest attempt of the generator that created it. */
  readonly generator_attempt: number | null;
}

/** Times are milliseconds since the epoch. */
export interface ModelTask {
  readonly definition: NewTask;
  readonly workflow_id: WorkflowId;
  readonly parents: readonly ModelParent[];
  /**
   * Parents in other workflows whose end has reached this task. Ends travel between workflows once: such a gate stays
   * closed, even when the parent is reopened.
   */
  told_by: ReadonlySet<TaskId>;
  state: TaskState;
  /** Counts claims; a report of an older attempt is rejected. */
  attempt: number;
  metadata: JsonObject;
  success_count: number;
  failure_count: number;
  /** Earliest time of a claim (a delay, a backoff); null: at once. */
  run_at: number | null;
  /**
   * A worker may be running the current attempt: from the claim until its report or its deadline, through pauses and
   * even after a cancel. Exactly these tasks hold slots.
   */
  attempt_open: boolean;
  /** The start of the open attempt was acknowledged. A claimer that runs the task itself acknowledges by claiming. */
  started: boolean;
  /** Deadline of a started attempt. */
  deadline_at: number | null;
  /** Expiry of the claim until the attempt starts, unless its start is still to be delivered. */
  claim_expires_at: number | null;
  /** The start delivery of the claimed attempt is open: neither successful nor failed for the last time. */
  delivering: boolean;
  /** That delivery was tried, so its target may know of the attempt. */
  start_tried: boolean;
  paused_at: number | null;
  /** Ancestor whose end failed this task before it could start; null if it failed by itself or not at all. */
  failed_by: TaskId | null;
  /** Null for a task of a batch. */
  place: TreePlace | null;
  /** Node whose end stopped the sequence before it got here. */
  disabled_by: NodeId | null;
  /** Its attempt has ended except for the nodes that it announced. */
  expanding: boolean;
  /** Number of nodes it announced last; null: none yet. */
  expected_created: number | null;
  /** Lease of the open attempt, renewed by heartbeats; null: only deadlines end it. */
  lease_ms: number | null;
  /** Time of the last heartbeat. */
  heard_at: number;
}

export function emptyModel(claimTimeoutMs: number): Model {
  return { tasks: new Map(), containers: new Map(), paused: new Set(), claim_timeout_ms: claimTimeoutMs };
}

export function copyModel(model: Model): Model {
  const tasks = new Map<TaskId, ModelTask>();
  for (const [id, task] of model.tasks) tasks.set(id, { ...task });
  const containers = new Map<ContainerId, ModelContainer>();
  for (const [id, container] of model.containers) containers.set(id, { ...container });
  return { ...model, tasks, containers, paused: new Set(model.paused) };
}

/** Returns the task with this id; throws on an unknown id, which is a programming error. */
export function taskOf(model: Model, id: TaskId): ModelTask {
  const task = model.tasks.get(id);
  if (task === undefined) throw new Error(`the model has no task ${id}`);
  return task;
}

/** Returns `webhook` for a task with a start action, else the lane of its kind's workers. */
export function laneOf(task: ModelTask): string {
  return task.definition.actions.some((action) => action.trigger === 'start')
    ? 'webhook'
    : `kind:${task.definition.kind}`;
}

/** Counts the parents that it waits for, and its container if that has not reached it. */
export function openGates(model: Model, task: ModelTask): number {
  const untold = task.parents.filter(({ parent_id }) => !task.told_by.has(parent_id));
  return (
    countOpenGates(untold.map(({ parent_id }) => taskOf(model, parent_id).state)) + (isSealed(model, task) ? 1 : 0)
  );
}

export function childrenOf(model: Model, ids: ReadonlySet<TaskId>): ModelTask[] {
  return [...model.tasks.values()].filter((task) =>
    task.parents.some(({ parent_id }) => ids.has(parent_id) && !task.told_by.has(parent_id)),
  );
}

/** Records that the ends of these parents reached their children in other workflows. */
export function tellOtherWorkflows(model: Model, ended: ReadonlySet<TaskId>): void {
  for (const child of childrenOf(model, ended)) {
    const strangers = child.parents
      .map(({ parent_id }) => parent_id)
      .filter((id) => ended.has(id) && taskOf(model, id).workflow_id !== child.workflow_id);
    if (strangers.length > 0) child.told_by = new Set([...child.told_by, ...strangers]);
  }
}

/** Counts the tasks of a workflow by how they ended. */
export function runCounts(model: Model, id: WorkflowId): RunCounts {
  const tasks = [...model.tasks.values()].filter((task) => task.workflow_id === id);
  const count = (...states: TaskState[]): number => tasks.filter(({ state }) => states.includes(state)).length;
  return {
    total: tasks.length,
    remaining: tasks.filter((task) => !isTerminal(task.state)).length,
    succeeded: count('succeeded'),
    failed: count('failed', 'timed_out', 'partially_failed'),
    canceled: count('canceled'),
    skipped: count('disabled'),
  };
}

/** Returns the state in which a workflow ended; null while tasks are open. */
export function outcomeOf(model: Model, id: WorkflowId): TerminalState | null {
  const counts = runCounts(model, id);
  return counts.remaining > 0 ? null : runOutcome(counts, model.containers.get(id as string)?.state ?? null);
}

/** Closes this attempt: its slots are free and none of its clocks run. */
export function closeAttempt(task: ModelTask): void {
  task.attempt_open = false;
  task.started = false;
  task.deadline_at = null;
  task.claim_expires_at = null;
  task.delivering = false;
  task.start_tried = false;
  task.paused_at = null;
  task.expanding = false;
  task.lease_ms = null;
}

/** Resets an ended task to never started; its attempts keep counting. */
export function reopen(task: ModelTask): void {
  closeAttempt(task);
  task.state = 'waiting';
  task.failed_by = null;
  task.disabled_by = null;
}

export function isBadEnd(state: TaskState | undefined): boolean {
  return state !== undefined && isTerminal(state) && !satisfiesRequiredSuccess(state);
}
