import { STATUS_LOOKS, STATUSES, type StatusCounts } from '../output/status.ts';
import type { ClientContext } from '../output/client-command.ts';
import { UsageFailure } from '../output/failure.ts';
import type { Output } from '../output/output.ts';
import { writeFields, writeTable } from '../output/table.ts';
import { duration, printable } from '../output/text.ts';
import type { Batch, BatchDetail } from '../output/wire.ts';
import { writeTasks } from './task-table.ts';

export interface BatchListOptions {
  open?: boolean;
  ended?: boolean;
  page?: number;
  pageSize?: number;
}

export async function listBatches({ client, output }: ClientContext, options: BatchListOptions): Promise<undefined> {
  const { open = false, ended = false, page, pageSize } = options;
  if (open && ended) throw new UsageFailure('--open and --ended exclude each other', { next: 'give one of them' });
  const batches = await client.listBatches({
    ...(open ? { open: true } : ended ? { open: false } : {}),
    ...(page === undefined ? {} : { page }),
    ...(pageSize === undefined ? {} : { page_size: pageSize }),
  });
  output.result(batches, () => writeBatches(output, batches));
  return undefined;
}

function writeBatches(output: Output, batches: readonly Batch[]): void {
  if (batches.length === 0) {
    output.line('there are no such batches');
    return;
  }
  const now = output.clock.now();
  writeTable(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'NAME', value: ({ name }) => name ?? '-', flexible: true },
      {
        header: 'ENDED',
        value: ({ task_count, remaining }) => `${task_count - remaining}/${task_count}`,
        align: 'right',
      },
      { header: 'CREATED', value: ({ created_at }) => `${duration(now - Date.parse(created_at))} ago` },
      { header: 'TOOK', value: tookOf },
    ],
    batches,
  );
}

function tookOf({ created_at, ended_at }: Batch): string {
  return ended_at === null ? 'not ended' : duration(Date.parse(ended_at) - Date.parse(created_at));
}

export interface BatchGetOptions {
  tasks?: boolean;
}

export async function showBatch(
  { client, output }: ClientContext,
  { tasks = false }: BatchGetOptions,
  id: string,
): Promise<undefined> {
  const batch = await client.getBatch(id);
  const dag = tasks ? await client.getDag(id) : null;
  output.result(dag === null ? batch : { ...batch, tasks: dag.tasks, links: dag.links }, () => {
    writeBatch(output, batch);
    if (dag === null) return;
    output.line();
    writeTasks(output, dag.tasks);
  });
  return undefined;
}

function writeBatch(output: Output, batch: BatchDetail): void {
  writeFields(output, [
    ['id', batch.id],
    ['name', batch.name === null ? null : printable(batch.name)],
    ['ended', `${batch.task_count - batch.remaining} of ${batch.task_count} tasks`],
    ['status', paintedCounts(output, batch.by_status)],
    ['created', batch.created_at],
    ['took', tookOf(batch)],
    ['archived', batch.archived ? 'yes' : null],
  ]);
}

function paintedCounts(output: Output, counts: StatusCounts): string {
  return STATUSES.filter((status) => (counts[status] ?? 0) > 0)
    .map((status) => {
      const { symbol, style } = STATUS_LOOKS[status];
      return output.paint(style, `${symbol} ${counts[status] ?? 0} ${status}`);
    })
    .join('  ');
}
