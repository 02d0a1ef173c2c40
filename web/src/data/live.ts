import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { QueryKey, UseQueryResult } from '@tanstack/react-query';
import { ApiError } from '../api/client.ts';

/** A change is on the screen within two seconds. */
const LIVE_MS = 1000;
/** Lists stay live while at most this many pages are open. */
const LIVE_PAGES_MAX = 4;

type Read<Value> = (signal: AbortSignal) => Promise<Value>;

interface LiveOptions {
  /** Milliseconds between reads while the tab is visible; false: read once. */
  every?: number | false;
  enabled?: boolean;
}

/** Reads a value and keeps it current while the tab is visible. It stops at an error that another read cannot fix. */
export function useLive<Value>(key: QueryKey, read: Read<Value>, options: LiveOptions = {}): UseQueryResult<Value> {
  const { every = LIVE_MS, enabled = true } = options;
  return useQuery({
    queryKey: key,
    queryFn: ({ signal }) => read(signal),
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (isFinal(state.error) ? false : every),
  });
}

function isFinal(error: unknown): boolean {
  return error instanceof ApiError && !error.transient;
}

/** One page of a list, and where the next one starts. */
export interface ListPart<Row> {
  rows: readonly Row[];
  /** Null: this is the last one. */
  next: string | null;
}

export interface LiveList<Row> {
  /** Null until the first page has arrived. */
  rows: readonly Row[] | null;
  error: unknown;
  updatedAtMs: number;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
}

/** Reads a list page by page, by cursor, and keeps what is open current. */
export function useLiveList<Row>(
  key: QueryKey,
  read: (after: string | null, signal: AbortSignal) => Promise<ListPart<Row>>,
): LiveList<Row> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => {
      if (isFinal(state.error)) return false;
      return (state.data?.pages.length ?? 1) <= LIVE_PAGES_MAX ? LIVE_MS : false;
    },
  });
  return {
    rows: query.data?.pages.flatMap(({ rows }) => rows) ?? null,
    error: query.error,
    updatedAtMs: query.dataUpdatedAt,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
  };
}
