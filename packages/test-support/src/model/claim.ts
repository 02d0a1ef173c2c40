import type { TaskId } from '@heddle/base/ids';
import { blockingRule } from './slots.ts';
import { copyModel, laneOf, taskOf } from './state.ts';
import type { Model, ModelTask } from './state.ts';

/** Returns the claimable tasks of these lanes, rules aside, in order of precedence: priority, then age (ids grow). */
function claimable(model: Model, lanes: readonly string[], now: number): ModelTask[] {
  return [...model.tasks.values()]
    .filter((task) => task.state === 'pending' && (task.run_at ?? now) <= now && lanes.includes(laneOf(task)))
    .sort(byPrecedence);
}

function byPrecedence(left: ModelTask, right: ModelTask): number {
  return right.definition.priority - left.definition.priority || (left.definition.id < right.definition.id ? -1 : 1);
}

/** Returns the ideal claim: walks in order of precedence and takes every task that its rules allow. */
export function idealClaim(model: Model, lanes: readonly string[], limit: number, now: number): TaskId[] {
  const draft = copyModel(model);
  const taken: TaskId[] = [];
  for (const task of claimable(draft, lanes, now)) {
    if (taken.length >= limit) break;
    if (blockingRule(draft, task) !== undefined) continue;
    openAttempt(draft, task, 'running', now);
    taken.push(task.definition.id);
  }
  return taken;
}

export interface ClaimVerdict {
  /** Faults that no correct engine's answer could have. */
  faults: string[];
  /** Tasks that the claimer had capacity for and that no rule blocked: an engine may leave them to its next claim. */
  left: TaskId[];
}

/** Allowances of an engine for tasks that wait for a slot, so that they do not slow down the scan of all others. */
export interface WaitingForSlots {
  /** Pending tasks for which a returned slot is reserved, because they have waited longest. */
  promised: readonly TaskId[];
  /** Pending tasks set aside until their slot is returned; they may be claimed a little late. */
  aside: readonly TaskId[];
}

/**
 * Checks an engine's answer: every claimed task was claimable, its rules held when it was taken, and no task of higher
 * precedence was passed over. Only a task that was not set aside counts as passed over, and only if it could still
 * start beside the whole answer and the tasks with a reserved slot. The answer may be shorter than the ideal one.
 */
export function judgeClaim(
  model: Model,
  lanes: readonly string[],
  limit: number,
  answer: readonly TaskId[],
  now: number,
  { promised, aside }: WaitingForSlots = { promised: [], aside: [] },
): ClaimVerdict {
  const draft = copyModel(model);
  const chosen = new Set(answer);
  const order = claimable(draft, lanes, now);
  const faults: string[] = [];
  if (answer.length > limit) faults.push(`${answer.length} tasks were claimed, ${limit} asked for`);
  if (chosen.size < answer.length) faults.push('a task was claimed twice');
  for (const id of chosen) {
    if (!order.some((task) => task.definition.id === id))
      faults.push(`${id} was not claimable (${describe(model, id)})`);
  }
  for (const task of order.filter(({ definition }) => chosen.has(definition.id))) {
    const rule = blockingRule(draft, task);
    if (rule !== undefined)
      faults.push(`${task.definition.id} was claimed against its ${rule.type} rule of at most ${rule.max}`);
    openAttempt(draft, task, 'running', now);
  }
  for (const id of promised) {
    const task = taskOf(draft, id);
    if (task.state === 'pending') openAttempt(draft, task, 'running', now);
  }
  const last = order.findLastIndex((task) => chosen.has(task.definition.id));
  const free = order.filter((task) => !chosen.has(task.definition.id) && blockingRule(draft, task) === undefined);
  for (const task of free) {
    if (order.indexOf(task) >= last || aside.includes(task.definition.id)) continue;
    faults.push(`${task.definition.id} was passed over for a task of lower precedence`);
  }
  return { faults, left: answer.length >= limit ? [] : free.map((task) => task.definition.id) };
}

function describe(model: Model, id: TaskId): string {
  const task = model.tasks.get(id);
  return task === undefined ? 'unknown' : `${task.state}, run_at ${task.run_at ?? 'none'}, ${laneOf(task)}`;
}

/** Opens the next attempt of each task: `running` if the claimer runs it, `claimed` until a webhook is answered. */
export function claim(
  model: Model,
  ids: readonly TaskId[],
  into: 'claimed' | 'running',
  now: number,
  leaseMs: number | null = null,
): void {
  for (const id of ids) {
    const task = taskOf(model, id);
    openAttempt(model, task, into, now);
    task.lease_ms = leaseMs;
  }
}

function openAttempt(model: Model, task: ModelTask, into: 'claimed' | 'running', now: number): void {
  task.state = into;
  task.attempt += 1;
  task.attempt_open = true;
  task.started = into === 'running';
  task.run_at = null;
  task.heard_at = now;
  task.deadline_at = into === 'running' ? now + task.definition.timeout_secs * 1000 : null;
  task.delivering = into === 'claimed';
  task.start_tried = false;
  task.claim_expires_at = into === 'claimed' ? now + model.claim_timeout_ms : null;
}
