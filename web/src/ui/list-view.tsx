import type { ReactNode } from 'react';
import type { LiveList } from '../data/live.ts';
import { Trouble } from './problem.tsx';
import { Table } from './table.tsx';
import type { Column, Selection } from './table.tsx';
import { Loading } from './loading.tsx';

interface ListViewProps<Row> {
  label: string;
  list: LiveList<Row>;
  columns: readonly Column<Row>[];
  rowId: (row: Row) => string;
  href?: (row: Row) => string;
  selection?: Selection;
  openId?: string | null;
  /** Shown instead of rows if there are none. */
  empty: ReactNode;
}

/** A live list: what is wrong with the server, the rows, and the next page. */
export function ListView<Row>({ list, empty, ...table }: ListViewProps<Row>) {
  const { rows, error, updatedAtMs } = list;
  return (
    <>
      {error !== null && error !== undefined && <Trouble error={error} updatedAtMs={updatedAtMs} />}
      {rows === null && (error === null || error === undefined) && <Loading />}
      {rows !== null && rows.length > 0 && <Table {...table} rows={rows} more={list} />}
      {rows?.length === 0 && !list.hasMore && empty}
      {rows?.length === 0 && list.hasMore && <Table {...table} rows={rows} more={list} />}
    </>
  );
}
