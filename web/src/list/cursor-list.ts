import { useCallback, useEffect, useState } from 'react';
import { usePolled } from '../live/use-polled.ts';
import type { Polled } from '../live/use-polled.ts';
import { PAGE_SIZE } from './list-page.tsx';

/** The visible part of a list. */
interface Place<Query> {
  query: Query;
  /** The last row of each previous page. */
  after: readonly string[];
  /** The open row. */
  open: string | null;
}

interface CursorListOptions<Query, Row> {
  /** Reads it from the URL. */
  start: () => { query: Query; open: string | null };
  /** Writes it to the URL. */
  write: (place: { query: Query; open: string | null }) => void;
  /** Reads one page, after the row with that id; must stay the same function. */
  read: (query: Query, page: { after: string | null; size: number }, signal: AbortSignal) => Promise<Row[]>;
}

export interface CursorList<Query, Row> {
  query: Query;
  /** The last response; null before the first one. */
  rows: readonly Row[] | null;
  /** The rows of the current page and filters, after which the next page starts; null until loaded. */
  current: readonly Row[] | null;
  polled: Pick<Polled<unknown>, 'error' | 'heardAtMs' | 'reread'>;
  /** From 0. */
  page: number;
  open: string | null;
  /** Changes some filters and starts again with the first page. */
  filter: (change: Partial<Query>) => void;
  turn: (page: number) => void;
  show: (id: string | null) => void;
}

/** A live list that is read page by page, each after the last row of the previous one, with one open row. */
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
