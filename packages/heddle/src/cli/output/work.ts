import { UsageFailure } from './failure.ts';
import { given } from './list-options.ts';
import type { Output } from '@heddle/base/terminal/output';
import { writeTable, type Column } from '@heddle/base/terminal/table';
import { duration } from '@heddle/base/terminal/text';

/** Filters of lists of batches and of workflows. */
export interface WorkListOptions {
  open?: boolean;
  ended?: boolean;
  page?: number;
  pageSize?: number;
  after?: string;
}

/** Members that batches and workflows share. */
interface Work {
  id: string;
  name: string | null;
  task_count: number;
  remaining: number;
  created_at: string;
  ended_at: string | null;
}

/** Converts the filters for the client, for the page after `after`. */
export function workQuery(
  { open = false, ended = false, page, pageSize, ...options }: WorkListOptions,
  after = options.after,
): { open?: boolean; page?: number; page_size?: number; after?: string } {
  if (open && ended) throw new UsageFailure('--open and --ended exclude each other', { hint: 'use one of them' });
  return {
    ...(open ? { open: true } : ended ? { open: false } : {}),
    ...given({ after, page: after === undefined ? page : undefined, page_size: pageSize }),
  };
}

/** Writes a list, with additional columns after the id. */
export function writeWork<Row extends Work>(
  output: Output,
  what: string,
  rows: readonly Row[],
  own: readonly Column<Row>[] = [],
): void {
  if (rows.length === 0) {
    output.line(`no matching ${what}`);
    return;
  }
  const now = output.clock.now();
  writeTable<Row>(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      ...own,
      { header: 'NAME', value: ({ name }) => name ?? '-', flexible: true },
      {
        header: 'ENDED',
        value: ({ task_count, remaining }) => `${task_count - remaining}/${task_count}`,
        align: 'right',
      },
      { header: 'CREATED', value: ({ created_at }) => `${duration(now - Date.parse(created_at))} ago` },
      { header: 'TOOK', value: tookOf },
    ],
    rows,
  );
}

export function tookOf({ created_at, ended_at }: Pick<Work, 'created_at' | 'ended_at'>): string {
  return ended_at === null ? 'unfinished' : duration(Date.parse(ended_at) - Date.parse(created_at));
}
