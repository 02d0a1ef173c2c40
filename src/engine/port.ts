import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { TaskId, WorkflowId } from '../domain/ids.ts';
import type { Dependency, NewTask, Task, TaskDetail, WorkflowSummary } from '../domain/task.ts';
import type { ContainerState, Outcome, TaskState } from '../domain/task-state.ts';
import type { StartTaskMessage } from '../domain/message.ts';
import type { WorkflowNotification } from '../domain/notification/notification.ts';
import type { Delivery, DeliveryClaimRequest, DeliveryFilter, DeliveryRecord, DeliveryResult } from './delivery.ts';
import type { ContainerExplanation, Explanation } from './explanation.ts';
import type { TaskNotices } from './notices/port.ts';
import type { RunnerDesk, RunnersAsked } from './runners/port.ts';
import type {
  AttemptHolder,
  ClaimAlong,
  ClaimedTask,
  ClaimRequest,
  Heartbeat,
  HeartbeatResult,
  UnknownKind,
} from './work-port.ts';
import type {
  NewContainerNode,
  NewNode,
  TaskResult,
  TreeChanges,
  TreeOptions,
  TreePage,
  WorkflowTree,
} from '../domain/workflow.ts';

export type {
  Delivery,
  DeliveryClaimRequest,
  DeliveryFilter,
  DeliveryRecord,
  DeliveryResult,
  DeliveryState,
  DeliveryTrigger,
} from './delivery.ts';
export type { ChunkKey, Findings, ScanBooks } from './findings/port.ts';
export type { SharedData, SharedEntry } from './data/port.ts';
export type * from './work-port.ts';
export type { BadEnd, Notices, TaskNotices, Telling, TellingTask } from './notices/port.ts';
export type { ModelBooks, Models, RunEnding } from './models/port.ts';
export type { RunnerDesk, RunnersAsked, TaskDemand, TaskRunner } from './runners/port.ts';

/** One workflow on its way in. Several submissions share one transaction; each stands or falls by itself. */
export interface Submission {
  workflow_id: WorkflowId;
  name: string | null;
  tasks: readonly NewTask[];
  /** W3C trace context of the caller, carried on to all that its tasks cause. */
  traceparent: string | null;
  idempotency: IdempotencyKey | null;
}

export interface IdempotencyKey {
  key: string;
  /** SHA-256 of the canonical body, hexadecimal. */
  body_hash: string;
}

/** A workflow that is a tree: its id is that of its root container. Storing one twice changes nothing. */
export interface WorkflowSubmission {
  name: string | null;
  root: NewContainerNode;
  /** Who is told when it ends; nobody where absent. */
  notify?: readonly WorkflowNotification[] | undefined;
  traceparent: string | null;
  idempotency: IdempotencyKey | null;
  /** The run of a job that it belongs to; null for any other. */
  job_run_id: string | null;
}

export interface WorkflowSubmitResult {
  workflow_id: WorkflowId;
  created_at: number;
  task_count: number;
  container_count: number;
  /** True where it was stored before. */
  replayed: boolean;
}

/** A node that a generator made, with all that is below it. */
export interface NodeCreation {
  generator_id: TaskId;
  /** The attempt that made it; null speaks for the current one. */
  attempt: number | null;
  node: NewNode;
  /** The container it goes into, by id or by the submitter's own name; null: the generator's own. */
  parent: string | null;
}

/**
 * `created`; `exists` (a repeated message, or one of a later attempt: it counts for that one); `stale_attempt` (of an
 * attempt that is over); `rejected`: for good, or, where `transient`, until the container that it names has come.
 */
export type NodeCreationResult =
  | { result: 'created' | 'exists' }
  | { result: 'stale_attempt' }
  | { result: 'rejected'; reason: string; transient: boolean };

export interface SubmittedTask {
  id: TaskId;
  local_id: string | null;
  state: TaskState;
  /** The existing task that made this one unnecessary; null where the task was created. */
  deduplicated_to: TaskId | null;
}

export interface SubmitResult {
  workflow_id: WorkflowId;
  created_at: number;
  tasks: SubmittedTask[];
  /** True where an earlier request with the same idempotency key already did the work. */
  replayed: boolean;
}

/** What a worker or a webhook target says of a task. A null attempt speaks for the current one. */
export interface Report {
  task_id: TaskId;
  attempt: number | null;
  outcome: Outcome;
  reason?: string;
  metadata_patch?: JsonObject;
  new_success?: number;
  new_failures?: number;
  result?: JsonValue;
  /** Of a generator: how many nodes it announced. It is `expanding` until so many exist. */
  expected_created?: number;
  /** Of a failure: trying again is in vain, and the retry policy has no say. */
  final?: boolean;
  /**
   * Of a success in a sequence: nodes after the task in that sequence, by their names or ids, that are disabled with
   * it. Names of anything else are ignored.
   */
  disable?: readonly string[];
  /** Of a success: what to tell whom, in the same transaction. */
  notices?: TaskNotices;
  /** Where the claim said that the task belongs; spares the report from looking it up. */
  workflow?: { id: WorkflowId; linked: boolean };
}

/**
 * What became of a transition:
 * `applied`; `retrying` (a failure that the retry policy turned into the next attempt); `unchanged` (it was so already);
 * `conflict` (the task's state does not allow it); `not_started`; `stale_attempt`; `not_found`.
 */
export type TransitionResult =
  'applied' | 'retrying' | 'unchanged' | 'conflict' | 'not_started' | 'stale_attempt' | 'not_found';

export interface TransitionOutcome {
  task_id: TaskId;
  result: TransitionResult;
  /** The state after the transition; null where there is no such task. */
  state: TaskState | null;
}

export interface ProgressReport {
  task_id: TaskId;
  attempt: number | null;
  new_success: number;
  new_failures: number;
  idempotency_key: string | null;
}

export type ProgressResult = 'applied' | 'terminal' | 'not_found' | 'stale_attempt' | 'repeated' | 'key_reused';

/** Metadata merged and counters added without a change of state. */
export interface TaskUpdate {
  task_id: TaskId;
  attempt: number | null;
  metadata_patch?: JsonObject;
  new_success?: number;
  new_failures?: number;
}

export interface TaskFilter {
  states?: readonly TaskState[];
  /** Substring, case-insensitive. */
  kind?: string;
  /** Substring, case-insensitive. */
  name?: string;
  workflow_id?: WorkflowId;
  /** Containment (`@>`). */
  metadata?: JsonValue;
  offset: number;
  limit: number;
}

export interface Dag {
  workflow: WorkflowSummary;
  tasks: Task[];
  dependencies: Dependency[];
}

export interface Page {
  offset: number;
  limit: number;
}

export interface ChildPage extends Page {
  /** Only tasks and containers in one of these states. */
  states?: readonly TaskState[];
}

export interface WorkflowPage extends Page {
  /** Only those with tasks that have not ended, or only those without. */
  open?: boolean;
  /** Only trees, or only batches. */
  trees?: boolean;
  /** Only trees whose root is in one of these states. */
  root_states?: readonly ContainerState[];
}

/** Tasks of a workflow that changed since a moment, for live views. */
export interface DagChanges {
  tasks: Task[];
  /** Pass this to the next call; some tasks may be told twice, none is left out. */
  cursor: number;
  workflow: WorkflowSummary;
}

/** How many rows a pass touched. */
export interface SweepResult {
  promoted: number;
  requeued: number;
  timed_out: number;
  relayed: number;
  /** Whether it stopped at a bound: the next pass goes on there. */
  more: boolean;
}

export interface RetentionResult {
  archived: number;
  deleted: number;
}

/** What stands where now. Archived tasks are not counted. */
export interface Gauges {
  by_state: Record<TaskState, number>;
  /** The kinds and lanes with most tasks, at most as many as were asked for. */
  running_by_kind: Record<string, number>;
  ready_by_lane: Record<string, number>;
  deliveries: { held: number; due: number; dead: number };
  /** Kinds whose tasks go through queues, at most as many as were asked for. */
  queued_kinds: string[];
}

/** Whose results: those below a container, those before a task in its sequence, or those of a workflow. */
export type ResultScope = { container_id: string } | { before_task_id: TaskId } | { workflow_id: WorkflowId };

/** Everything the rest of the system asks of the engine. Every method is safe to repeat. */
export interface Engine {
  submit(submissions: readonly Submission[]): Promise<SubmitResult[]>;
  submitWorkflows(submissions: readonly WorkflowSubmission[]): Promise<WorkflowSubmitResult[]>;
  /** Adds what generators made, in the order given; a rejected node holds back no other. */
  createNodes(creations: readonly NodeCreation[]): Promise<NodeCreationResult[]>;
  /** Those of the kinds that no worker has ever asked for, the first ten. */
  unknownKinds(kinds: readonly string[]): Promise<UnknownKind[]>;
  /** Ends generators whose announced children all exist; returns their workflows. */
  completeGenerators(limit: number): Promise<WorkflowId[]>;
  /** Looks at the open containers of these workflows again and moves what may; with tasks: at roots and above those. */
  reevaluate(ids: readonly WorkflowId[], tasks?: readonly TaskId[]): Promise<void>;
  /** Asks for the runners of at most `limit` ready tasks, and takes attempts back whose runners are gone. */
  askForRunners(desk: RunnerDesk, limit: number): Promise<RunnersAsked>;
  /** Claims tasks of kinds that are dispatched through queues and writes their StartTask messages; returns them. */
  dispatch(holder: string, limit: number): Promise<StartTaskMessage[]>;
  /** From now on tasks of these kinds go through the queues of their workers. */
  workersSeen(workers: readonly { worker: string; kinds: readonly string[]; concurrency: number }[]): Promise<void>;
  /** Starts claimed attempts, extends the leases of running ones, adds their counts. */
  heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]>;
  /** Who works on these tasks; without those that are archived, or do not exist. */
  attemptHolders(ids: readonly TaskId[]): Promise<AttemptHolder[]>;
  /** Hands attempts back that their worker will not finish: they are ready again at once, as their next attempt. */
  release(tasks: readonly { task_id: TaskId; attempt: number }[]): Promise<TransitionOutcome[]>;

  /** Claims tasks and makes them `running` in one step, for a claimer that runs them itself. */
  claim(request: ClaimRequest): Promise<ClaimedTask[]>;
  /** Claims up to `limit` tasks that start by a webhook and writes their start deliveries; returns how many. */
  claimForDelivery(holder: string, limit: number): Promise<number>;

  report(reports: readonly Report[]): Promise<TransitionOutcome[]>;
  /**
   * Reports and, in the same transaction, claims what is next: one round trip and one commit where a worker needs both.
   */
  reportAndClaim(
    reports: readonly Report[],
    request: ClaimRequest,
  ): Promise<{ outcomes: TransitionOutcome[]; claimed: ClaimedTask[] }>;
  update(updates: readonly TaskUpdate[]): Promise<TransitionOutcome[]>;
  progress(reports: readonly ProgressReport[]): Promise<ProgressResult[]>;
  /** An open attempt keeps its slots until it reports, its cancel actions are confirmed, or its deadline passes. */
  cancel(ids: readonly TaskId[], reason?: string): Promise<TransitionOutcome[]>;
  cancelWorkflow(id: WorkflowId): Promise<number | null>;
  /** What was or becomes ready waits until the workflow is resumed; null where there is no such workflow. */
  pauseWorkflow(id: WorkflowId): Promise<number | null>;
  resumeWorkflow(id: WorkflowId): Promise<number | null>;
  /**
   * Re-opens what failed, timed out or was canceled and what comes after it; returns how many tasks that is, null where
   * there is no such workflow.
   *
   * @throws HeddleError CONFLICT while tasks of a tree have not ended
   */
  retryWorkflow(id: WorkflowId): Promise<number | null>;
  pause(ids: readonly TaskId[]): Promise<TransitionOutcome[]>;
  resume(ids: readonly TaskId[]): Promise<TransitionOutcome[]>;
  retry(ids: readonly TaskId[]): Promise<TransitionOutcome[]>;
  /** Frees the slots of canceled attempts, on the word of who knows that nobody is at work. */
  releaseCanceled(ids: readonly TaskId[]): Promise<TransitionOutcome[]>;

  claimDeliveries(request: DeliveryClaimRequest): Promise<Delivery[]>;
  /** Keeps tries that go on from being taken by another process for `lease_ms` more. */
  renewDeliveries(tries: readonly { id: string; tries: number }[], lease_ms: number): Promise<void>;
  settleDeliveries(results: readonly DeliveryResult[]): Promise<void>;
  /** Writes what is to be told of the ends of these trees, once for each run of each; returns how many deliveries that are. */
  announceEnds(ids: readonly WorkflowId[]): Promise<number>;
  listDeliveries(filter: DeliveryFilter): Promise<DeliveryRecord[]>;
  /** Makes dead deliveries due again; returns how many were dead. */
  replayDeliveries(ids: readonly string[]): Promise<number>;

  /** Promotes delayed tasks, requeues expired claims, times out, relays propagation between workflows. */
  sweep(): Promise<SweepResult>;
  retain(limit: number): Promise<RetentionResult>;

  getTask(id: TaskId): Promise<TaskDetail | null>;
  listTasks(filter: TaskFilter): Promise<Task[]>;
  getDag(id: WorkflowId): Promise<Dag | null>;
  /** The tree of a workflow in one snapshot, archived ones too; null where there is none, or it is a batch. */
  getTree(id: WorkflowId, options?: TreeOptions): Promise<{ workflow: WorkflowSummary; tree: WorkflowTree } | null>;
  /** Children of a container by position; tasks come with empty metadata. Null where the workflow has no such container. */
  listChildren(id: WorkflowId, container_id: string, page: ChildPage): Promise<TreePage | null>;
  /** Nodes that changed since the cursor of the last call; cursor 0 returns all. Null where there is no such tree. */
  treeChanges(id: WorkflowId, cursor: number): Promise<TreeChanges | null>;
  /**
   * Results that tasks of this container and of those below it left, by container and position, after `after`; a page of at most
   * `limit`. `earlier`: of the siblings before this task instead, as an aggregator reads them.
   */
  /** What a task left; null where it left nothing. */
  readResult(id: TaskId): Promise<TaskResult | null>;
  readResults(scope: ResultScope, after: TaskId | null, limit: number): Promise<TaskResult[]>;
  /** Tasks that changed since the cursor of the last call; cursor 0 returns all. */
  dagChanges(id: WorkflowId, cursor: number): Promise<DagChanges | null>;
  getWorkflow(id: WorkflowId): Promise<WorkflowSummary | null>;
  countStates(id: WorkflowId): Promise<Partial<Record<TaskState, number>>>;
  listWorkflows(page: WorkflowPage): Promise<WorkflowSummary[]>;
  explain(id: TaskId): Promise<Explanation | null>;
  /** Why a container has not started or not ended; null where the workflow has no such container. */
  explainContainer(id: WorkflowId, container_id: string): Promise<ContainerExplanation | null>;
  gauges(kind_limit: number): Promise<Gauges>;

  /** Calls back after a commit, here or in another process, that made tasks ready in one of these lanes. */
  onReady(lanes: readonly string[], wake: () => void): () => void;
  /**
   * Offers a claim on these lanes to small submissions of this process: what they bring then starts with the commit that
   * stores it. `claimAlong` is asked when a submission is sent; null: no room now.
   */
  offerToClaim(lanes: readonly string[], claimAlong: () => ClaimAlong | null): () => void;
  onDeliveryDue(wake: () => void): () => void;
  /** Calls back when tasks of the workflow changed (debounced). */
  onWorkflowChange(id: WorkflowId, wake: () => void): () => void;
  /** Stops listening and sends the notifications that wait. */
  close(): Promise<void>;
}
