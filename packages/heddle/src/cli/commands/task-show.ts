import type { ClientContext } from '../output/client-command.ts';
import { UsageFailure } from '../output/failure.ts';
import type { Output } from '@heddle/base/terminal/output';
import { STATUS_LOOKS, type Status } from '../output/status.ts';
import { TASK_FIELD_NAMES, TASK_FIELDS } from '@heddle/base/vocabulary/task-fields';
import { writeFields } from '@heddle/base/terminal/table';
import { printable } from '@heddle/base/terminal/text';
import type { TaskDetail } from '../output/wire.ts';
import { fullPage, given, writeNext } from '../output/list-options.ts';
import { progressOf, ranOf, writeTasks } from './task-table.ts';

export interface TaskListOptions {
  status?: Status;
  kind?: string;
  name?: string;
  batch?: string;
  metadata?: string;
  page?: number;
  pageSize?: number;
  after?: string;
}

export async function listTasks({ client, output }: ClientContext, options: TaskListOptions): Promise<undefined> {
  const { status, kind, name, batch, metadata, page, pageSize } = options;
  const query = {
    ...(status === undefined ? {} : { status }),
    ...(kind === undefined ? {} : { kind }),
    ...(name === undefined ? {} : { name }),
    ...(batch === undefined ? {} : { batch_id: batch }),
    ...(metadata === undefined ? {} : { metadata: parseJsonObject(metadata, '--metadata') }),
    ...(pageSize === undefined ? {} : { page_size: pageSize }),
  };
  const { items, next } = await fullPage(
    (after = options.after) =>
      client.pages.tasks({ ...query, ...given({ after, page: after === undefined ? page : undefined }) }),
    options,
  );
  output.result(items, () => {
    writeTasks(output, items);
    writeNext(output, next);
  });
  return undefined;
}

export function parseJsonObject(text: string, option: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageFailure(`${option} is not valid JSON: ${(error as Error).message}`, { hint: EXAMPLE });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageFailure(`${option} is not a JSON object`, { hint: EXAMPLE });
}

const EXAMPLE = `such as '{"tenant":"a"}', in single quotes`;

export async function showTask({ client, output }: ClientContext, _options: unknown, id: string): Promise<undefined> {
  const task = await client.getTask(id);
  output.result(task, () => writeTask(output, task));
  return undefined;
}

function writeTask(output: Output, task: TaskDetail): void {
  const { symbol, style } = STATUS_LOOKS[task.status];
  writeFields(output, [
    ['id', task.id],
    ['name', printable(task.name)],
    ['kind', printable(task.kind)],
    ['status', output.paint(style, `${symbol} ${task.status}`)],
    ['reason', task.failure_reason === null ? null : printable(task.failure_reason)],
    ['batch', task.batch_id],
    ['local id', task.local_id === null ? null : printable(task.local_id)],
    ['attempt', attemptOf(task)],
    ['done', progressOf(task)],
    ['failures', task.failures === 0 ? null : String(task.failures)],
    ['ran', ranOf(task, output.clock.now())],
    ...settingsOf(task),
    ['timeout', `${task.timeout} s ${task.timeout_basis === 'start' ? 'from its start' : 'without activity'}`],
    ['created', task.created_at],
    ['started', task.started_at],
    ['ended', task.ended_at],
    ['updated', task.last_updated],
    ['archived', task.archived ? 'yes' : null],
    ['metadata', printable(JSON.stringify(task.metadata))],
    ['needs', task.requirements === null ? null : printable(JSON.stringify(task.requirements))],
    ...task.rules.map((rule) => ['rule', printable(JSON.stringify(rule))] as const),
    ...task.dedupe_strategy.map((dedupe) => ['dedupe', printable(JSON.stringify(dedupe))] as const),
    ...task.actions.map((action) => ['action', actionInWords(action)] as const),
  ]);
}

/** The settings that no other line shows. */
function settingsOf(task: TaskDetail): [string, string | null][] {
  return TASK_FIELD_NAMES.map((name) => TASK_FIELDS[name].batch)
    .filter((member) => !member.startsWith('timeout') && member !== 'expected_count')
    .map((member) => [member.replaceAll('_', ' '), task[member] === null ? null : String(task[member])]);
}

function attemptOf({ attempt, retry }: TaskDetail): string {
  return retry === null ? String(attempt) : `${attempt} of at most ${retry.max_attempts}`;
}

function actionInWords({ trigger, condition, params }: TaskDetail['actions'][number]): string {
  return printable(`${trigger}${condition === undefined ? '' : ` (${condition})`}: ${params.verb} ${params.url}`);
}

/** Writes one line about the current state of a task; the task itself with `--json`. */
export function printTask(output: Output, task: TaskDetail): void {
  output.result(task, () => {
    const { symbol, style } = STATUS_LOOKS[task.status];
    const reason = task.failure_reason === null ? '' : `: ${printable(task.failure_reason)}`;
    output.line(`${output.paint(style, `${symbol} ${task.status}`)} ${printable(task.name)} (${task.id})${reason}`);
  });
}
