import type { TaskId } from '@heddle/base/ids';
import { restartClock } from './operate.ts';
import { propagate } from './propagate.ts';
import { closeAttempt, taskOf } from './state.ts';
import type { Model, ModelTask } from './state.ts';

/** Counts the nodes of a generator's current attempt, those included that an earlier one had created before. */
export function createdBy(model: Model, id: TaskId): number {
  const { attempt } = taskOf(model, id);
  const isOfIt = (made: { generator_id: TaskId | null; generator_attempt: number | null } | null): boolean =>
    made?.generator_id === id && made.generator_attempt === attempt;
  const tasks = [...model.tasks.values()].filter(({ place }) => isOfIt(place));
  const containers = [...model.containers.values()].filter(isOfIt);
  return tasks.length + containers.length;
}

/** Ends the worker's part of a generator; the generator itself ends when its announced nodes exist. */
export function expand(task: ModelTask, now: number): void {
  restartClock(task, now);
  const { deadline_basis, timeout_secs } = task.definition;
  if (deadline_basis === 'activity') task.deadline_at = now + timeout_secs * 1000;
  else task.deadline_at ??= now + timeout_secs * 1000;
  task.claim_expires_at = null;
  task.delivering = false;
  task.started = true;
  task.expanding = true;
  task.heard_at = now;
  task.state = 'expanding';
}

/** Ends the generators whose announced nodes all exist. */
export function completeGenerators(model: Model): void {
  const done = [...model.tasks.values()].filter(
    (task) => task.state === 'expanding' && createdBy(model, task.definition.id) >= task.expected_created!,
  );
  for (const task of done) {
    closeAttempt(task);
    task.state = 'succeeded';
  }
  propagate(
    model,
    done.map((task) => task.definition.id),
  );
}
