import { STATUS_LOOKS, STATUSES, type StatusCounts } from '../output/status.ts';
import type { ClientContext } from '../output/client-command.ts';
import type { Output } from '@heddle/base/terminal/output';
import { writeFields } from '@heddle/base/terminal/table';
import { printable } from '@heddle/base/terminal/text';
import { fullPage, writeNext } from '../output/list-options.ts';
import type { BatchDetail } from '../output/wire.ts';
import { tookOf, workQuery, writeWork, type WorkListOptions } from '../output/work.ts';
import { writeTasks } from './task-table.ts';

export async function listBatches({ client, output }: ClientContext, options: WorkListOptions): Promise<undefined> {
  const { items, next } = await fullPage((after) => client.pages.batches(workQuery(options, after)), options);
  output.result(items, () => {
    writeWork(output, 'batches', items);
    writeNext(output, next);
  });
  return undefined;
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
