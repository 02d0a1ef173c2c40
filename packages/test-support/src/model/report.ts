import type { TaskId } from '@heddle/base/ids';
import { mergePatch } from '@heddle/base/json';
import type { JsonObject } from '@heddle/base/json';
import { restingState } from './readiness.ts';
import type { RetryPolicy } from '@heddle/base/vocabulary/task';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Outcome } from '@heddle/base/vocabulary/task-state';
import { forEachTask } from './answer.ts';
import type { ModelOutcome, ModelResult } from './answer.ts';
import { propagate } from './propagate.ts';
import { closeAttempt, openGates, taskOf } from './state.ts';
import type { Model, ModelTask } from './state.ts';
import { disableBranch } from './tree-branch.ts';
import { createdBy, expand } from './tree-generate.ts';

export interface ModelReport {
  task_id: TaskId;
  /** Null: the current attempt. */
  attempt: number | null;
  outcome: Outcome;
  metadata_patch?: JsonObject;
  new_success?: number;
  new_failures?: number;
  /** Number of nodes that a generator announced. */
  expected_created?: number;
  /** Permanent failure: no retry. */
  final?: boolean;
  /** Nodes after the task in its sequence that a success disables. */
  disable?: readonly string[];
}

/**
 * Settles a whole set of reports first and propagates afterwards: no report of a set sees the effects of another. A
 * second report on the same task belongs to the next set.
 */
export function report(model: Model, reports: readonly ModelReport[], now: number): ModelOutcome[] {
  const outcomes: ModelOutcome[] = [];
  for (const set of distinctSets(reports)) {
    const ended: TaskId[] = [];
    // State before the set: a retried task may wait for one that ends in the same set, if that was retried.
    const gates = new Map(set.map(({ item }) => [item.task_id, gatesOf(model, item.task_id)]));
    const ofSet = forEachTask(
      model,
      set.map(({ item }) => item),
      ({ task_id }) => task_id,
      (task, item) => {
        const result = settle(model, task, item, now, gates.get(item.task_id)!);
        if (result === 'applied') ended.push(task.definition.id);
        return result;
      },
    );
    set.forEach(({ at }, n) => (outcomes[at] = ofSet[n]!));
    for (const { item } of set) {
      if (item.disable === undefined || item.outcome !== 'succeeded' || !ended.includes(item.task_id)) continue;
      if (!taskOf(model, item.task_id).expanding) disableBranch(model, item.task_id, item.disable);
    }
    propagate(model, ended);
  }
  return outcomes;
}

/** Puts the n-th reports of all tasks into the n-th set; `at` is the index of a report in the call. */
function distinctSets(reports: readonly ModelReport[]): { item: ModelReport; at: number }[][] {
  const sets: { item: ModelReport; at: number }[][] = [];
  const seen = new Map<TaskId, number>();
  for (const [at, item] of reports.entries()) {
    const nth = seen.get(item.task_id) ?? 0;
    seen.set(item.task_id, nth + 1);
    (sets[nth] ??= []).push({ item, at });
  }
  return sets;
}

function gatesOf(model: Model, id: TaskId): number {
  const task = model.tasks.get(id);
  return task === undefined ? 0 : openGates(model, task);
}

function settle(model: Model, task: ModelTask, item: ModelReport, now: number, gates: number): ModelResult {
  if (item.attempt !== null && item.attempt !== task.attempt) return 'stale_attempt';
  if (isTerminal(task.state)) {
    // The late report of a canceled task is rejected, but shows that no worker runs it any more.
    closeAttempt(task);
    return task.state === item.outcome ? 'unchanged' : 'conflict';
  }
  if (!task.attempt_open) return 'not_started';
  if (task.expanding) return item.outcome === 'succeeded' ? 'unchanged' : 'conflict';
  addCounts(task, item);
  if (item.outcome === 'succeeded' && item.expected_created !== undefined && task.place !== null) {
    task.expected_created = item.expected_created;
    if (createdBy(model, task.definition.id) < item.expected_created) {
      expand(task, now);
      return 'applied';
    }
  }
  return finish(model, task, item.outcome, now, item.final, gates);
}

/**
 * Ends the open attempt: with the next one if the retry policy has one left, else for good. A paused task stays paused
 * until it is resumed; its next attempt then waits for the rest of the backoff.
 */
export function finish(
  model: Model,
  task: ModelTask,
  outcome: Outcome,
  now: number,
  final = false,
  gates = openGates(model, task),
): 'applied' | 'retrying' {
  const pausedAt = task.paused_at;
  closeAttempt(task);
  const policy = task.definition.retry;
  const triesAgain = !final && (outcome === 'failed' || outcome === 'timed_out');
  if (triesAgain && policy !== null && task.attempt < policy.max_attempts) {
    task.run_at = now + longestBackoffMs(policy, task.attempt);
    if (task.state === 'paused') task.paused_at = pausedAt;
    else task.state = restingState(gates);
    return 'retrying';
  }
  task.state = outcome;
  return 'applied';
}

/** Returns the wait before retry `n` (1 for the first) without jitter, milliseconds; jitter only shortens it. */
function longestBackoffMs(policy: RetryPolicy, n: number): number {
  return Math.min(policy.base_ms * policy.factor ** (n - 1), policy.max_ms);
}

export interface ModelUpdate {
  task_id: TaskId;
  attempt: number | null;
  metadata_patch?: JsonObject;
  new_success?: number;
  new_failures?: number;
}

/** Merges metadata and adds counts without a change of state. */
export function update(model: Model, updates: readonly ModelUpdate[], now: number): ModelOutcome[] {
  return forEachTask(
    model,
    updates,
    ({ task_id }) => task_id,
    (task, item) => {
      if (item.attempt !== null && item.attempt !== task.attempt) return 'stale_attempt';
      if (isTerminal(task.state)) return 'conflict';
      addCounts(task, item);
      noteActivity(model, task, now);
      return 'applied';
    },
  );
}

export interface ModelProgress {
  task_id: TaskId;
  new_success: number;
  new_failures: number;
}

export function progress(
  model: Model,
  reports: readonly ModelProgress[],
  now: number,
): ('applied' | 'terminal' | 'not_found')[] {
  return reports.map((item) => {
    const task = model.tasks.get(item.task_id);
    if (task === undefined) return 'not_found';
    if (isTerminal(task.state)) return 'terminal';
    addCounts(task, item);
    noteActivity(model, task, now);
    return 'applied';
  });
}

export function addCounts(task: ModelTask, item: Omit<ModelUpdate, 'task_id' | 'attempt'>): void {
  task.success_count += item.new_success ?? 0;
  task.failure_count += item.new_failures ?? 0;
  if (item.metadata_patch !== undefined) task.metadata = mergePatch(task.metadata, item.metadata_patch) as JsonObject;
}

/**
 * Applies a heartbeat: extends a claim and restarts the clock of an `activity` deadline; during a pause the clock
 * stands still and counts from the pause.
 */
export function noteActivity(model: Model, task: ModelTask, now: number): void {
  const from = task.paused_at ?? now;
  task.heard_at = now;
  if (task.claim_expires_at !== null) task.claim_expires_at = from + model.claim_timeout_ms;
  if (task.deadline_at !== null && task.definition.deadline_basis === 'activity') {
    task.deadline_at = from + task.definition.timeout_secs * 1000;
  }
}
