import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Trouble } from './problem.tsx';
import { Table } from './table.tsx';
import type { Column } from './table.tsx';
import { Loading } from './loading.tsx';

interface LiveTableProps<Row> {
  label: string;
  answer: UseQueryResult<readonly Row[]>;
  columns: readonly Column<Row>[];
  rowId: (row: Row) => string;
  openId?: string;
  href?: (row: Row) => string;
  empty: ReactNode;
}

/** A live list that has one page. */
export function LiveTable<Row>({ answer, empty, ...table }: LiveTableProps<Row>) {
  const { data, error, dataUpdatedAt } = answer;
  return (
    <>
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && (data.length === 0 ? empty : <Table {...table} rows={data} />)}
    </>
  );
}
