import type { Batch } from '@heddle/client';
import { agoOf, CREATED, ListTable, momentOf, nameColumn, progressColumn, TOOK } from '../list/list-table.tsx';
import type { Column } from '../list/list-table.tsx';

const COLUMNS: readonly Column<Batch>[] = [
  nameColumn('Batch', (id) => `/view?batch=${encodeURIComponent(id)}`),
  progressColumn((done, { task_count }) => ` · ${task_count === 0 ? 100 : Math.floor((100 * done) / task_count)} %`),
  CREATED,
  {
    header: 'Ended',
    title: ({ ended_at }) => momentOf(ended_at),
    cell: ({ ended_at, archived }, now) => (
      <>
        {ended_at === null ? <span className="open-mark">Open</span> : agoOf(ended_at, now)}
        {archived && <span className="quiet"> · archived</span>}
      </>
    ),
  },
  TOOK,
];

/** Batches as a table: name, progress, start time and duration. */
export function BatchTable({ rows, now }: { rows: readonly Batch[]; now: number }) {
  return <ListTable columns={COLUMNS} rows={rows} now={now} />;
}
