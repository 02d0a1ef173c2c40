import type { ReactNode } from 'react';
import { formatAgo, formatDuration, formatMoment, parseTime } from '../times.ts';

export interface Column<Row> {
  header: string;
  /** Class of its cells. */
  className?: string;
  /** Right-aligned for numbers. */
  number?: boolean;
  title?: (row: Row) => string;
  cell: (row: Row, now: number) => ReactNode;
}

interface ListTableProps<Row> {
  className?: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  now: number;
}

export function ListTable<Row extends { id: string }>({ className, columns, rows, now }: ListTableProps<Row>) {
  return (
    <table className={className === undefined ? 'batch-table' : `batch-table ${className}`}>
      <TableHead headers={columns} />
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            {columns.map(({ header, className: ofCell, number, title, cell }) => (
              <td key={header} className={number === true ? 'number tabular' : ofCell} title={title?.(row)}>
                {cell(row, now)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function TableHead({ headers }: { headers: readonly Pick<Column<never>, 'header' | 'number'>[] }) {
  return (
    <thead>
      <tr>
        {headers.map(({ header, number }) => (
          <th key={header} scope="col" className={number === true ? 'number' : undefined}>
            {header}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** What batches and workflows have in common. */
interface Work {
  id: string;
  name: string | null;
  task_count: number;
  remaining: number;
  created_at: string;
  ended_at: string | null;
}

export function nameColumn<Row extends Work>(header: string, addressOf: (id: string) => string): Column<Row> {
  return {
    header,
    className: 'batch-name',
    cell: ({ id, name }) => (
      <>
        <a href={addressOf(id)}>{name ?? id}</a>
        <span className="quiet mono">{name === null ? '' : id}</span>
      </>
    ),
  };
}

/** @param note shown after the count */
export function progressColumn<Row extends Work>(note: (done: number, row: Row) => string): Column<Row> {
  return {
    header: 'Progress',
    className: 'batch-progress',
    cell: (row) => {
      const done = row.task_count - row.remaining;
      const value = row.task_count === 0 ? 1 : done;
      return (
        <>
          <progress max={Math.max(1, row.task_count)} value={value} aria-label="Progress" />
          <span className="tabular">
            {done.toLocaleString()} of {row.task_count.toLocaleString()}
            <span className="quiet">{note(done, row)}</span>
          </span>
        </>
      );
    },
  };
}

export function momentOf(time: string | null): string {
  const at = parseTime(time);
  return at === null ? '' : formatMoment(at);
}

export function agoOf(time: string | null, now: number): string {
  const at = parseTime(time);
  return at === null ? '–' : formatAgo(at, now);
}

export const CREATED: Column<Work> = {
  header: 'Created',
  title: ({ created_at }) => momentOf(created_at),
  cell: ({ created_at }, now) => agoOf(created_at, now),
};

export const TOOK: Column<Work> = {
  header: 'Took',
  number: true,
  cell: ({ created_at, ended_at }, now) => {
    const createdAt = parseTime(created_at);
    return createdAt === null ? '–' : formatDuration((parseTime(ended_at) ?? now) - createdAt);
  },
};
