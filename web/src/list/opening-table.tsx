import { Fragment } from 'react';
import type { ReactNode } from 'react';
import { TableHead } from './list-table.tsx';
import type { Column } from './list-table.tsx';

interface OpeningTableProps<Row> {
  className: string;
  /** The first column: its label is the button that opens the row. */
  opener: { header: string; label: (row: Row) => ReactNode; below?: (row: Row) => ReactNode };
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  now: number;
  /** The open row. */
  open: string | null;
  onOpen: (id: string | null) => void;
  details: (row: Row) => ReactNode;
}

/** A table in which one row at a time shows details below itself. */
export function OpeningTable<Row extends { id: string }>(props: OpeningTableProps<Row>) {
  const { className, opener, columns, rows, open, onOpen, details } = props;
  return (
    <table className={`batch-table opening-table ${className}`}>
      <TableHead headers={[opener, ...columns]} />
      <tbody>
        {rows.map((row) => (
          <Fragment key={row.id}>
            <Row {...props} row={row} isOpen={open === row.id} onToggle={(isOpen) => onOpen(isOpen ? row.id : null)} />
            {open === row.id && (
              <tr className="row-more">
                <td colSpan={columns.length + 1} id={`details-${row.id}`}>
                  {details(row)}
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

interface RowProps<Row> extends Pick<OpeningTableProps<Row>, 'opener' | 'columns' | 'now'> {
  row: Row;
  isOpen: boolean;
  onToggle: (open: boolean) => void;
}

function Row<Row extends { id: string }>({ row, opener, columns, now, isOpen, onToggle }: RowProps<Row>) {
  return (
    <tr data-open={isOpen}>
      <td className="row-name">
        <button
          type="button"
          className="link"
          aria-expanded={isOpen}
          aria-controls={isOpen ? `details-${row.id}` : undefined}
          onClick={() => onToggle(!isOpen)}
        >
          <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> {opener.label(row)}
        </button>
        {opener.below?.(row)}
      </td>
      {columns.map(({ header, className, number, title, cell }) => (
        <td key={header} className={number === true ? 'number tabular' : className} title={title?.(row)}>
          {cell(row, now)}
        </td>
      ))}
    </tr>
  );
}
