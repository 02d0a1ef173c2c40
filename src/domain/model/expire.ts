import type { TaskId } from '../ids.ts';
import { restingState } from '../readiness.ts';
import { propagate } from './propagate.ts';
import { finish } from './report.ts';
import { closeAttempt, openGates, taskOf } from './state.ts';
import type { Model } from './state.ts';

/** The webhook's target answered: what was claimed is running. */
export function start(model: Model, ids: readonly TaskId[]): void {
  for (const id of ids) {
    const task = taskOf(model, id);
    if (!task.attempt_open) continue;
    task.started = true;
    task.claim_expires_at = null;
    if (task.state === 'claimed') task.state = 'running';
  }
}

/** A delivery under way keeps the claim alive until `until`, milliseconds since the epoch. */
export function renewClaim(model: Model, id: TaskId, until: number): void {
  const task = taskOf(model, id);
  if (task.claim_expires_at !== null) task.claim_expires_at = Math.max(task.claim_expires_at, until);
}

/**
 * What time does: an attempt past its deadline times out (and may be tried again), a canceled one gives its slots back,
 * and a claim that nobody delivered lapses. Clocks stand while a task is paused.
 */
export function expire(model: Model, now: number): { requeued: TaskId[]; timed_out: TaskId[] } {
  const requeued: TaskId[] = [];
  const timedOut: TaskId[] = [];
  const ended: TaskId[] = [];
  for (const task of model.tasks.values()) {
    const id = task.definition.id;
    if (!task.attempt_open || task.state === 'paused') continue;
    if (task.deadline_at !== null && task.deadline_at <= now) {
      if (task.state === 'canceled') {
        closeAttempt(task);
        continue;
      }
      timedOut.push(id);
      if (finish(model, task, 'timed_out', now) === 'applied') ended.push(id);
    } else if (task.state === 'claimed' && task.claim_expires_at !== null && task.claim_expires_at <= now) {
      closeAttempt(task);
      task.state = restingState(openGates(model, task));
      requeued.push(id);
    }
  }
  propagate(model, ended);
  return { requeued, timed_out: timedOut };
}
