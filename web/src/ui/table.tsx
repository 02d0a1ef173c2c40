import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import { useLocation } from 'wouter';
import { Button } from './button.tsx';

export interface Column<Row> {
  header: string;
  cell: (row: Row) => ReactNode;
  /** Right-aligned, with digits of equal width. */
  number?: boolean;
  /** The column that grows; the others are as wide as their content. */
  grow?: boolean;
  /** Left out in narrow windows. */
  optional?: boolean;
}

interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowId: (row: Row) => string;
  /** Where Enter or a click on a row leads. Its first cell should contain the same link. */
  href?: (row: Row) => string;
  selection?: Selection;
  /** Marks the row that is open beside the table. */
  openId?: string | null;
  more?: { hasMore: boolean; isLoadingMore: boolean; loadMore: () => void };
}

export interface Selection {
  ids: ReadonlySet<string>;
  onChange: (ids: ReadonlySet<string>) => void;
}

/** From this number of rows on only those in the window are drawn. */
const VIRTUAL_MIN = 200;
const ROW_HEIGHT_PX = 33;

/**
 * The table of every list: rows are opened by mouse or Enter, walked with the arrow keys or j and k, selected with their
 * boxes or x. Narrow windows show each row as a card with the names of its cells.
 */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, selection, more } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const onKeyDown = useRowKeys(props);
  return (
    <div className="table-box">
      <table className="table" aria-label={label}>
        <thead>
          <tr>
            {selection !== undefined && <SelectAll {...props} selection={selection} />}
            {columns.map((column) => (
              <th key={column.header} scope="col" className={cellClass(column)}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={onKeyDown}>
          {rows.length >= VIRTUAL_MIN ? (
            <VirtualRows {...props} body={body} />
          ) : (
            rows.map((row, i) => <TableRow key={props.rowId(row)} {...props} row={row} index={i} />)
          )}
        </tbody>
      </table>
      {more?.hasMore === true && (
        <div className="table-more">
          <Button disabled={more.isLoadingMore} onClick={more.loadMore}>
            {more.isLoadingMore ? 'Loading…' : 'Load more'}
          </Button>
        </div>
      )}
    </div>
  );
}

function cellClass<Row>({ number, grow, optional }: Column<Row>): string | undefined {
  const names = [number === true && 'number', grow === true && 'grow', optional === true && 'optional'];
  return names.filter((name) => name !== false).join(' ') || undefined;
}

function SelectAll<Row>({ rows, rowId, selection }: TableProps<Row> & { selection: Selection }) {
  const isAll = rows.length > 0 && rows.every((row) => selection.ids.has(rowId(row)));
  return (
    <th scope="col" className="select-cell">
      <input
        type="checkbox"
        aria-label="Select all"
        checked={isAll}
        onChange={() => selection.onChange(isAll ? new Set() : new Set(rows.map(rowId)))}
      />
    </th>
  );
}

function VirtualRows<Row>(props: TableProps<Row> & { body: React.RefObject<HTMLTableSectionElement | null> }) {
  const { rows, rowId, columns, selection, body } = props;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => document.getElementById('scroller'),
    estimateSize: () => ROW_HEIGHT_PX,
    getItemKey: (i) => rowId(rows[i]!),
    scrollMargin: body.current?.offsetTop ?? 0,
    overscan: 20,
  });
  const items = virtual.getVirtualItems();
  const margin = virtual.options.scrollMargin;
  const before = (items[0]?.start ?? margin) - margin;
  const after = virtual.getTotalSize() - ((items.at(-1)?.end ?? margin) - margin);
  const span = columns.length + (selection === undefined ? 0 : 1);
  return (
    <>
      <Gap height={before} span={span} />
      {items.map(({ index }) => (
        <TableRow key={rowId(rows[index]!)} {...props} row={rows[index]!} index={index} />
      ))}
      <Gap height={after} span={span} />
    </>
  );
}

function Gap({ height, span }: { height: number; span: number }) {
  if (height <= 0) return null;
  return (
    <tr className="table-gap" aria-hidden="true">
      <td colSpan={span} style={{ height }} />
    </tr>
  );
}

function TableRow<Row>(props: TableProps<Row> & { row: Row; index: number }) {
  const { row, index, columns, rowId, href, selection, openId } = props;
  const [, navigate] = useLocation();
  const id = rowId(row);
  const isSelected = selection?.ids.has(id) ?? false;
  return (
    <tr
      data-id={id}
      data-selected={isSelected || undefined}
      data-open={openId === id || undefined}
      tabIndex={index === 0 ? 0 : -1}
      onClick={(event) => {
        if (href === undefined || isControl(event.target) || window.getSelection()?.isCollapsed === false) return;
        navigate(href(row));
      }}
    >
      {selection !== undefined && (
        <td className="select-cell">
          <input
            type="checkbox"
            aria-label="Select"
            checked={isSelected}
            onChange={() => selection.onChange(toggled(selection.ids, id))}
          />
        </td>
      )}
      {columns.map((column) => (
        <td key={column.header} className={cellClass(column)} data-label={column.header}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input, select, textarea, label') !== null;
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return next;
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/** Keys of the focused row. */
function useRowKeys<Row>({ rows, rowId, href, selection }: TableProps<Row>) {
  const [, navigate] = useLocation();
  return (event: KeyboardEvent<HTMLTableSectionElement>): void => {
    const row = event.target;
    if (!(row instanceof HTMLTableRowElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const id = row.dataset['id'] ?? '';
    const step = STEPS[event.key];
    if (step !== undefined) {
      const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
      if (next instanceof HTMLTableRowElement && next.dataset['id'] !== undefined) next.focus();
    } else if (event.key === 'Enter' && href !== undefined) {
      const found = rows.find((each) => rowId(each) === id);
      if (found !== undefined) navigate(href(found));
    } else if ((event.key === 'x' || event.key === ' ') && selection !== undefined) {
      selection.onChange(toggled(selection.ids, id));
    } else return;
    event.preventDefault();
  };
}
