import { useCallback, useEffect, useState } from 'react';
import { usePolled } from '../live/use-polled.ts';
import type { Polled } from '../live/use-polled.ts';
import { PAGE_SIZE } from './list-page.tsx';

/** What of a list is shown. */
interface Place<Query> {
  query: Query;
  /** The last row of each page before this one. */
  after: readonly string[];
  /** The row that is open. */
  open: string | null;
}

interface CursorListOptions<Query, Row> {
  /** What the address says. */
  start: () => { query: Query; open: string | null };
  /** Says it in the address. */
  write: (place: { query: Query; open: string | null }) => void;
  /** One page, after the row with that id; must stay the same function. */
  read: (query: Query, page: { after: string | null; size: number }, signal: AbortSignal) => Promise<Row[]>;
}

export interface CursorList<Query, Row> {
  query: Query;
  /** What the last answer held; null before the first one. */
  rows: readonly Row[] | null;
  /** The rows of this very page and these filters, which the next page comes after; null until they have come. */
  current: readonly Row[] | null;
  polled: Pick<Polled<unknown>, 'error' | 'heardAtMs' | 'reread'>;
  /** From 0. */
  page: number;
  open: string | null;
  /** Changes part of the filters and begins again with the first page. */
  filter: (change: Partial<Query>) => void;
  turn: (page: number) => void;
  show: (id: string | null) => void;
}

/** A live list that is read page by page, each after the last row of the one before, and of which one row is open. */
export function useCursorList<Query, Row extends { id: string }>({
  start,
  write,
  read,
}: CursorListOptions<Query, Row>): CursorList<Query, Row> {
  const [place, setPlace] = useState<Place<Query>>(() => ({ ...start(), after: [] }));
  const { query, after, open } = place;
  const last = after.at(-1) ?? null;
  const readPage = useCallback(
    async (signal: AbortSignal) => ({ query, last, rows: await read(query, { after: last, size: PAGE_SIZE }, signal) }),
    [query, last, read],
  );
  const { value, ...polled } = usePolled(readPage);
  const current = value?.query === query && value.last === last ? value.rows : null;
  useEffect(() => write(place), [place]);
  return {
    query,
    rows: value?.rows ?? null,
    current,
    polled,
    page: after.length,
    open,
    filter: (change) => setPlace((before) => ({ query: { ...before.query, ...change }, after: [], open: null })),
    turn: (page) => {
      const oldest = current?.at(-1)?.id;
      const pages = page < after.length || oldest === undefined ? after.slice(0, page) : [...after, oldest];
      setPlace({ query, after: pages, open: null });
    },
    show: (id) => setPlace((before) => ({ ...before, open: id })),
  };
}
