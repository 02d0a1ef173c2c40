import type { TaskId } from '@heddle/base/ids';
import { restingState } from './readiness.ts';
import { forEachTask } from './answer.ts';
import type { ModelOutcome } from './answer.ts';
import { propagate } from './propagate.ts';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import { addCounts, finish, noteActivity } from './report.ts';
import { closeAttempt, laneOf, openGates, taskOf } from './state.ts';
import type { Model } from './state.ts';

/**
 * Applies the answer of a webhook target: the claimed task is running, and its deadline counts from now. No effect on a
 * task that was canceled meanwhile.
 */
export function start(model: Model, ids: readonly TaskId[], now: number): void {
  for (const id of ids) {
    const task = taskOf(model, id);
    task.delivering = false;
    if (!task.attempt_open || task.started || task.state === 'canceled') continue;
    task.started = true;
    task.claim_expires_at = null;
    task.deadline_at = (task.paused_at ?? now) + task.definition.timeout_secs * 1000;
    if (task.state === 'claimed') task.state = 'running';
  }
}

/** Marks the start deliveries of these attempts as being sent to the target. */
export function tryStart(model: Model, ids: readonly TaskId[]): void {
  for (const id of ids) {
    const task = taskOf(model, id);
    if (task.attempt_open && !task.started) task.start_tried = true;
  }
}

/** Records a failed try; if the task was canceled meanwhile, nothing runs it and the delivery is not retried. */
export function failStart(model: Model, ids: readonly TaskId[]): void {
  for (const id of ids) {
    const task = taskOf(model, id);
    if (task.state === 'canceled' && task.attempt_open && !task.started) closeAttempt(task);
  }
}

/** Removes the start delivery of a claimed task, so that nothing will run it and its claim may expire. */
export function loseDelivery(model: Model, ids: readonly TaskId[]): void {
  for (const id of ids) taskOf(model, id).delivering = false;
}

/**
 * Applies the passage of time: a running attempt past its deadline times out (and may be retried), a claim without a
 * start delivery expires, and a canceled attempt past its deadline releases its slots. Clocks stop while a task is
 * paused.
 */
export function expire(model: Model, now: number): { requeued: TaskId[]; timed_out: TaskId[] } {
  const requeued: TaskId[] = [];
  const timedOut: TaskId[] = [];
  const ended: TaskId[] = [];
  for (const task of model.tasks.values()) {
    const due = task.deadline_at ?? (task.delivering ? null : task.claim_expires_at);
    if (!task.attempt_open || task.state === 'paused' || due === null || due > now) continue;
    const id = task.definition.id;
    if (task.state === 'canceled') {
      closeAttempt(task);
    } else if (task.state === 'claimed') {
      closeAttempt(task);
      task.state = restingState(openGates(model, task));
      requeued.push(id);
    } else {
      timedOut.push(id);
      if (finish(model, task, 'timed_out', now) === 'applied') ended.push(id);
    }
  }
  propagate(model, ended);
  requeued.push(...loseAttempts(model, now));
  return { requeued, timed_out: timedOut };
}

export interface ModelRelease {
  task_id: TaskId;
  attempt: number;
}

/**
 * Requeues attempts that their workers will not finish. Webhook targets do not claim tasks, and a task that waits for
 * its children has no holder.
 */
export function release(model: Model, tasks: readonly ModelRelease[]): ModelOutcome[] {
  return forEachTask(
    model,
    tasks,
    ({ task_id }) => task_id,
    (task, { attempt }) => {
      if (task.attempt !== attempt) return 'stale_attempt';
      if (isTerminal(task.state)) {
        closeAttempt(task);
        return 'conflict';
      }
      if (!task.attempt_open) return 'unchanged';
      if (task.expanding || laneOf(task) === 'webhook') return 'conflict';
      const pausedAt = task.paused_at;
      closeAttempt(task);
      if (task.state === 'paused') task.paused_at = pausedAt;
      else task.state = restingState(openGates(model, task));
      return 'applied';
    },
  );
}

/** Number of lost attempts beyond its retry policy after which a task is no longer retried. */
const LOST_ATTEMPTS_MAX = 9;

/**
 * Requeues attempts whose lease expired without a heartbeat. An attempt that waits for its children has no worker that
 * could be lost.
 */
function loseAttempts(model: Model, now: number): TaskId[] {
  const requeued: TaskId[] = [];
  const ended: TaskId[] = [];
  for (const task of model.tasks.values()) {
    if (task.lease_ms === null || task.heard_at + task.lease_ms > now) continue;
    if (task.state === 'canceled') closeAttempt(task);
    if (task.state !== 'running') continue;
    const id = task.definition.id;
    closeAttempt(task);
    if (task.attempt >= (task.definition.retry?.max_attempts ?? 1) + LOST_ATTEMPTS_MAX) {
      task.state = 'failed';
      ended.push(id);
    } else {
      task.state = restingState(openGates(model, task));
      requeued.push(id);
    }
  }
  propagate(model, ended);
  return requeued;
}

export interface ModelHeartbeat {
  task_id: TaskId;
  attempt: number;
  new_success: number;
  new_failures: number;
}

export type HeartbeatAnswer = 'applied' | 'canceled' | 'stale_attempt' | 'not_found';

/** Applies heartbeats: the first one starts a claimed attempt; one for an ended attempt tells the worker to stop. */
export function heartbeat(model: Model, beats: readonly ModelHeartbeat[], now: number): HeartbeatAnswer[] {
  return beats.map((beat) => {
    const task = model.tasks.get(beat.task_id);
    if (task === undefined) return 'not_found';
    if (task.attempt !== beat.attempt) return 'stale_attempt';
    if (isTerminal(task.state)) return 'canceled';
    if (!task.attempt_open) return 'stale_attempt';
    start(model, [beat.task_id], now);
    addCounts(task, beat);
    noteActivity(model, task, now);
    return 'applied';
  });
}
