import type { JsonValue } from '@heddle/base/json';
import type { TaskId, WorkflowId } from '@heddle/base/ids';
import type { Redactor } from '@heddle/base/redactor';
import type { TaskAttempt } from '@heddle/base/vocabulary/attempt';
import type { LogChunk, LogPage } from '@heddle/base/vocabulary/task-log';
import type { Dependency, NewTask, Task, TaskDetail, WorkflowSummary } from '@heddle/base/vocabulary/task';
import type { ContainerState, TaskState } from '@heddle/base/vocabulary/task-state';
import type { StartTaskMessage } from '../domain/message.ts';
import type { WorkflowNotification } from '../domain/notification/notification.ts';
import type { Delivery, DeliveryClaimRequest, DeliveryFilter, DeliveryRecord, DeliveryResult } from './delivery.ts';
import type { ContainerExplanation, Explanation } from './explanation.ts';
import type { WorkerPresence } from './presence.ts';
import type { LogQuery } from './task-logs.ts';
import type { RunDefinition } from './run-port.ts';
import type { RunnerBroker, RunnerRequestCounts } from './runners/port.ts';
import type {
  ProgressReport,
  ProgressResult,
  Report,
  RetryOptions,
  RunOperation,
  RunOutcome,
  TaskUpdate,
  TransitionOutcome,
} from './transition-port.ts';
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
} from '@heddle/base/vocabulary/workflow';

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
export type * from './run-port.ts';
export type * from './transition-port.ts';
export type * from './work-port.ts';
export type { WorkerPresence } from './presence.ts';
export type { BadEnd, Notices, TaskNotices, NoticeRequest, NotifyingTask } from './notices/port.ts';
export type { Artifact } from '@heddle/base/vocabulary/artifact';
export type {
  ArtifactContent,
  ArtifactOwner,
  Artifacts,
  BlobStore,
  ContentId,
  DirectTransfers,
  ReceivedBlob,
  TaskArtifacts,
  UploadTarget,
} from './artifacts/port.ts';
export type { ListedSecret, NamedSecrets } from './secrets/port.ts';
export type { ModelBooks, Models, RunEnding } from './models/port.ts';
export type { RunnerBroker, RunnerRequestCounts, TaskRunnerRequest, TaskRunner } from './runners/port.ts';

/** Workflow to submit. Several submissions share one transaction; each succeeds or fails by itself. */
export interface Submission {
  workflow_id: WorkflowId;
  name: string | null;
  tasks: readonly NewTask[];
  /** W3C trace context of the caller, passed on to everything its tasks cause. */
  traceparent: string | null;
  idempotency: IdempotencyKey | null;
  /** Creates all tasks, whatever their dedupe strategies find. */
  with_duplicates?: boolean;
  /** Text of its entry for the audit log, to store along with it if it can be stored at once. */
  audit_entry?: string;
}

export interface IdempotencyKey {
  key: string;
  /** SHA-256 of the canonical body, hexadecimal. */
  body_hash: string;
}

/** Workflow that is a tree; its id is that of its root container. Storing one twice changes nothing. */
export interface WorkflowSubmission {
  name: string | null;
  root: NewContainerNode;
  /** Recipients of its end notification; none if absent. */
  notify?: readonly WorkflowNotification[] | undefined;
  traceparent: string | null;
  idempotency: IdempotencyKey | null;
  /** Job run that it belongs to; null for any other workflow. */
  job_run_id: string | null;
}

export interface WorkflowSubmitResult {
  workflow_id: WorkflowId;
  created_at: number;
  task_count: number;
  container_count: number;
  /** True if it was stored before. */
  replayed: boolean;
}

/** Node that a generator created, with its descendants. */
export interface NodeCreation {
  generator_id: TaskId;
  /** Attempt that created it; null: the current one. */
  attempt: number | null;
  node: NewNode;
  /** Parent container, by id or by the submitter's name; null: the generator's own container. */
  parent: string | null;
}

/**
 * `created`; `exists` (a repeated message, or one of a later attempt, for which it then counts); `stale_attempt` (the
 * attempt has ended); `rejected`: for good, or, if `transient`, until the container that it names exists.
 */
export type NodeCreationResult =
  | { result: 'created' | 'exists' }
  | { result: 'stale_attempt' }
  | { result: 'rejected'; reason: string; transient: boolean };

export interface SubmittedTask {
  id: TaskId;
  local_id: string | null;
  state: TaskState;
  /** Existing task that made this one unnecessary; null if the task was created. */
  deduplicated_to: TaskId | null;
}

export interface SubmitResult {
  workflow_id: WorkflowId;
  created_at: number;
  tasks: SubmittedTask[];
  /** True if an earlier request with the same idempotency key already did the work. */
  replayed: boolean;
  /** Whether its entry of the audit log was stored along with it. */
  audited?: boolean;
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
  /** Only tasks with lower ids: the `next` of the page before. */
  after?: TaskId;
  offset: number;
  limit: number;
}

/** One page of a list that examines a bounded number of rows; it may be short although there are more. */
export interface TaskPage {
  tasks: Task[];
  /** Id after which the next page begins; null if there are no more. */
  next: TaskId | null;
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

export interface WorkflowFilter extends Page {
  /** Only workflows with open tasks, or only those without. */
  open?: boolean;
  /** Only trees, or only batches. */
  trees?: boolean;
  /** Only trees whose root is in one of these states. */
  root_states?: readonly ContainerState[];
  /** Only workflows with lower ids: the `next` of the page before. */
  after?: WorkflowId;
}

/** As a page of tasks. */
export interface WorkflowPage {
  workflows: WorkflowSummary[];
  next: WorkflowId | null;
}

/** Tasks of a workflow that changed since a cursor, for live views. */
export interface DagChanges {
  tasks: Task[];
  /** Cursor for the next call; some tasks may be repeated, none is missed. */
  cursor: number;
  workflow: WorkflowSummary;
}

/** Number of rows that a pass changed. */
export interface SweepResult {
  promoted: number;
  requeued: number;
  timed_out: number;
  relayed: number;
  /** Whether it stopped at a limit and the next pass should continue. */
  more: boolean;
}

export interface RetentionResult {
  archived: number;
  deleted: number;
}

/** Counts of tasks by state and lane. Archived tasks are not counted. */
export interface Gauges {
  /** `failed` includes timed out and partially failed tasks. Ended tasks are estimated where there are very many runs. */
  by_state: Record<TaskState, number>;
  /** Kinds and lanes with the most tasks, up to the requested number. */
  running_by_kind: Record<string, number>;
  ready_by_lane: Record<string, number>;
  deliveries: { held: number; due: number; dead: number };
  /** Kinds whose tasks go through queues, up to the requested number. */
  queued_kinds: string[];
}

/** Scope of results: below a container, before a task in its sequence, or of a workflow. */
export type ResultScope = { container_id: string } | { before_task_id: TaskId } | { workflow_id: WorkflowId };

/** Interface of the engine for the rest of the system. Every method is idempotent. */
export interface Engine {
  submit(submissions: readonly Submission[]): Promise<SubmitResult[]>;
  submitWorkflows(submissions: readonly WorkflowSubmission[]): Promise<WorkflowSubmitResult[]>;
  /** Adds nodes that generators created, in order; a rejected node does not affect the others. */
  createNodes(creations: readonly NodeCreation[]): Promise<NodeCreationResult[]>;
  /** Returns the first ten of the kinds that no worker has ever asked for. */
  unknownKinds(kinds: readonly string[]): Promise<UnknownKind[]>;
  /** Ends generators whose announced children all exist; returns their workflows. */
  completeGenerators(limit: number): Promise<WorkflowId[]>;
  /**
   * Reevaluates the open containers of these workflows; with tasks: only roots and the containers above those tasks.
   */
  reevaluate(ids: readonly WorkflowId[], tasks?: readonly TaskId[]): Promise<void>;
  /** Requests runners for at most `limit` ready tasks, and requeues attempts whose runners are gone. */
  askForRunners(desk: RunnerBroker, limit: number): Promise<RunnerRequestCounts>;
  /**
   * Claims tasks of kinds that are dispatched through queues, writes their StartTask messages, and returns the tasks.
   */
  dispatch(holder: string, limit: number): Promise<StartTaskMessage[]>;
  /** Routes tasks of these kinds through the queues of their workers from now on. */
  workersSeen(workers: readonly { worker: string; kinds: readonly string[]; concurrency: number }[]): Promise<void>;
  /** Applies heartbeats: starts claimed attempts, extends the leases of running ones, adds their counts. */
  heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]>;
  /** Returns the holders of these tasks; archived or unknown tasks are absent. */
  attemptHolders(ids: readonly TaskId[]): Promise<AttemptHolder[]>;
  /**
   * Returns a redactor for each of these tasks that secrets were sent for. Reports are redacted by themselves; this is for
   * the lines that workers log.
   */
  secretRedactors(ids: readonly TaskId[]): Promise<ReadonlyMap<TaskId, Redactor>>;
  /** Requeues attempts that their worker will not finish; they are ready at once, as their next attempt. */
  release(tasks: readonly { task_id: TaskId; attempt: number }[]): Promise<TransitionOutcome[]>;

  /** Claims tasks and makes them `running` in one step, for a claimer that runs them itself. */
  claim(request: ClaimRequest): Promise<ClaimedTask[]>;
  /** Claims up to `limit` tasks that start by a webhook, writes their start deliveries, and returns their number. */
  claimForDelivery(holder: string, limit: number): Promise<number>;

  report(reports: readonly Report[]): Promise<TransitionOutcome[]>;
  /**
   * Applies reports and claims the next tasks in one transaction, which saves a worker a round trip and a commit.
   */
  reportAndClaim(
    reports: readonly Report[],
    request: ClaimRequest,
  ): Promise<{ outcomes: TransitionOutcome[]; claimed: ClaimedTask[] }>;
  update(updates: readonly TaskUpdate[]): Promise<TransitionOutcome[]>;
  progress(reports: readonly ProgressReport[]): Promise<ProgressResult[]>;
  /**
   * Cancels tasks. An open attempt keeps its slots until it reports, its cancel actions succeed, or its deadline
   * passes.
   */
  cancel(ids: readonly TaskId[], reason?: string): Promise<TransitionOutcome[]>;
  cancelWorkflow(id: WorkflowId): Promise<number | null>;
  /** Pauses a workflow: ready tasks wait until it is resumed; null if there is no such workflow. */
  pauseWorkflow(id: WorkflowId): Promise<number | null>;
  resumeWorkflow(id: WorkflowId): Promise<number | null>;
  /**
   * Reopens failed, timed-out and canceled tasks and those after them; returns their number, or null if there is no
   * such workflow.
   *
   * @throws HeddleError CONFLICT while tasks of a tree have not ended
   */
  retryWorkflow(id: WorkflowId): Promise<number | null>;
  /** Changes runs (batches and workflows), each as a whole; one that cannot change does not affect the others. */
  operateRuns(ids: readonly WorkflowId[], operation: RunOperation): Promise<RunOutcome[]>;
  pause(ids: readonly TaskId[]): Promise<TransitionOutcome[]>;
  resume(ids: readonly TaskId[]): Promise<TransitionOutcome[]>;
  /**
   * Reopens failed, timed-out and canceled tasks and those that failed because of them.
   *
   * @throws HeddleError VALIDATION_FAILED if an expression of a new input is invalid
   */
  retry(ids: readonly TaskId[], options?: RetryOptions): Promise<TransitionOutcome[]>;
  /** Releases the slots of canceled attempts; the caller vouches that no process still runs them. */
  releaseCanceled(ids: readonly TaskId[]): Promise<TransitionOutcome[]>;

  claimDeliveries(request: DeliveryClaimRequest): Promise<Delivery[]>;
  /** Extends the claim on tries that continue by `lease_ms`. */
  renewDeliveries(tries: readonly { id: string; tries: number }[], lease_ms: number): Promise<void>;
  settleDeliveries(results: readonly DeliveryResult[]): Promise<void>;
  /** Writes the notifications about the ends of these trees, once per run; returns the number of deliveries. */
  announceEnds(ids: readonly WorkflowId[]): Promise<number>;
  listDeliveries(filter: DeliveryFilter): Promise<DeliveryRecord[]>;
  /** Makes dead deliveries due again; returns their number. */
  replayDeliveries(ids: readonly string[]): Promise<number>;

  /** Promotes delayed tasks, requeues expired claims, times out tasks, and propagates ends between workflows. */
  sweep(): Promise<SweepResult>;
  retain(limit: number): Promise<RetentionResult>;

  getTask(id: TaskId): Promise<TaskDetail | null>;
  listTasks(filter: TaskFilter): Promise<TaskPage>;
  getDag(id: WorkflowId): Promise<Dag | null>;
  /** Returns what was submitted as a batch or a workflow, archived ones too; null if there is none. */
  getDefinition(id: WorkflowId): Promise<RunDefinition | null>;
  /** Returns the tree of a workflow in one snapshot, archived ones too; null if there is none, or it is a batch. */
  getTree(id: WorkflowId, options?: TreeOptions): Promise<{ workflow: WorkflowSummary; tree: WorkflowTree } | null>;
  /** Returns children of a container by position, tasks with empty metadata; null if there is no such container. */
  listChildren(id: WorkflowId, container_id: string, page: ChildPage): Promise<TreePage | null>;
  /** Returns nodes changed since the cursor of the last call (0 returns all); null if there is no such tree. */
  treeChanges(id: WorkflowId, cursor: number): Promise<TreeChanges | null>;
  /** Returns at most `limit` attempts of a task below the number `before`, newest first; null: from the last one. */
  listAttempts(id: TaskId, before: number | null, limit: number): Promise<TaskAttempt[]>;
  /** Stores what attempts logged. A chunk may come again; those of unknown tasks and of later attempts are ignored. */
  appendLogs(chunks: readonly LogChunk[]): Promise<void>;
  /** Returns a part of what an attempt logged; null if it logged nothing. */
  readLogs(id: TaskId, query: LogQuery): Promise<LogPage | null>;
  /** Returns the result of a task; null if it has none. */
  readResult(id: TaskId): Promise<TaskResult | null>;
  /** Returns at most `limit` results of the tasks of a scope, after the task `after`. */
  readResults(scope: ResultScope, after: TaskId | null, limit: number): Promise<TaskResult[]>;
  /** Returns tasks changed since the cursor of the last call; cursor 0 returns all. */
  dagChanges(id: WorkflowId, cursor: number): Promise<DagChanges | null>;
  getWorkflow(id: WorkflowId): Promise<WorkflowSummary | null>;
  countStates(id: WorkflowId): Promise<Partial<Record<TaskState, number>>>;
  listWorkflows(filter: WorkflowFilter): Promise<WorkflowPage>;
  explain(id: TaskId): Promise<Explanation | null>;
  /** Explains why a container has not started or not ended; null if the workflow has no such container. */
  explainContainer(id: WorkflowId, container_id: string): Promise<ContainerExplanation | null>;
  gauges(kind_limit: number): Promise<Gauges>;
  /** Records that these workers are alive. */
  present(workers: readonly WorkerPresence[]): Promise<void>;
  /** Records that a worker stopped in order, so that it is not taken for lost. */
  leave(holder: string): Promise<void>;
  /** Adds what this process started and ended since the last call to the activity of all processes. */
  flushActivity(): Promise<void>;

  /** Calls back after a commit, in this or another process, that made tasks ready in one of these lanes. */
  onReady(lanes: readonly string[], wake: () => void): () => void;
  /**
   * Offers a claim on these lanes to small submissions of this process, so that their tasks start with the commit that
   * stores them. `claimAlong` is called when a submission is sent; null: no free capacity.
   */
  offerToClaim(lanes: readonly string[], claimAlong: () => ClaimAlong | null): () => void;
  onDeliveryDue(wake: () => void): () => void;
  /** Calls back when tasks of the workflow changed (debounced). */
  onWorkflowChange(id: WorkflowId, wake: () => void): () => void;
  /** Stops listening and sends pending notifications. */
  close(): Promise<void>;
}
