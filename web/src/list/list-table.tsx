import type { ReactNode } from 'react';
import { formatAgo, formatMoment, parseTime } from '../times.ts';

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

export function momentOf(time: string | null): string {
  const at = parseTime(time);
  return at === null ? '' : formatMoment(at);
}

export function agoOf(time: string | null, now: number): string {
  const at = parseTime(time);
  return at === null ? '–' : formatAgo(at, now);
}
