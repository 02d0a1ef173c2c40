import { canonicalJson } from '@heddle/base/json';
import type { JsonObject } from '@heddle/base/json';
import type { Rule } from '@heddle/base/vocabulary/task';
import type { Model, ModelTask } from './state.ts';

/** Returns whether all fields are equal; a missing field equals null. */
export function equalInFields(left: JsonObject, right: JsonObject, fields: readonly string[]): boolean {
  const valueOf = (of: JsonObject, field: string): string =>
    canonicalJson(Object.hasOwn(of, field) ? of[field]! : null);
  return fields.every((field) => valueOf(left, field) === valueOf(right, field));
}

/** Returns the remaining work of a task that counts its work; 0 without an expected count. */
export function remainingWork(task: ModelTask): number {
  return Math.max((task.definition.expected_count ?? 0) - task.success_count - task.failure_count, 0);
}

/**
 * Returns the tasks that hold a slot of `rule` from the view of `asking`, whether or not they have rules themselves.
 */
function slotHolders(model: Model, asking: ModelTask, rule: Rule): ModelTask[] {
  return [...model.tasks.values()].filter(
    (task) =>
      task.attempt_open &&
      task.definition.kind === rule.matcher.kind &&
      equalInFields(task.metadata, asking.metadata, rule.matcher.fields),
  );
}

/** Returns the usage of `rule`: the number of its holders, or their remaining work. */
function slotsUsed(model: Model, asking: ModelTask, rule: Rule): number {
  const holders = slotHolders(model, asking, rule);
  return rule.type === 'concurrency' ? holders.length : holders.reduce((sum, task) => sum + remainingWork(task), 0);
}

/** Returns the first rule that keeps a task from starting now; undefined if none does. */
export function blockingRule(model: Model, task: ModelTask): Rule | undefined {
  return task.definition.rules.find((rule) => slotsUsed(model, task, rule) >= rule.max);
}
