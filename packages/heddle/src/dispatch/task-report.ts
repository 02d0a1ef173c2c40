import type { ClaimedTask, Report } from '@heddle/core/engine/port';
import type { ExecutorResult } from './executor-registry.ts';
import { Completion } from './kind/completion.ts';

/** Returns the report of a task whose executor returned. */
export function reportOf(task: ClaimedTask, result: ExecutorResult): Report {
  if (result instanceof Completion) return reportOfCompletion(task, result);
  const report: Report = { task_id: task.id, attempt: task.attempt, outcome: 'succeeded', workflow: workflowOf(task) };
  if (result !== undefined) report.result = result;
  return report;
}

function reportOfCompletion(task: ClaimedTask, completion: Completion): Report {
  const { outcome, result, reason, expected_created, disable, final, exit_code, notices } = completion;
  const report: Report = { task_id: task.id, attempt: task.attempt, outcome, workflow: workflowOf(task) };
  if (result !== undefined) report.result = result;
  if (reason !== undefined) report.reason = reason;
  if (expected_created !== undefined) report.expected_created = expected_created;
  if (disable !== undefined) report.disable = disable;
  if (final) report.final = true;
  if (exit_code !== undefined) report.exit_code = exit_code;
  if (notices !== undefined) report.notices = notices;
  return report;
}

/** Returns the report of a task whose executor failed. */
export function failureOf(task: ClaimedTask, reason: string): Report {
  return { task_id: task.id, attempt: task.attempt, outcome: 'failed', workflow: workflowOf(task), reason };
}

function workflowOf({ workflow_id: id, linked }: ClaimedTask): NonNullable<Report['workflow']> {
  return { id, linked };
}
