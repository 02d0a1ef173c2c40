import { QueryClient } from '@tanstack/react-query';
import { ApiError } from '../api/client.ts';

const RETRY_MAX_MS = 5000;

/** The cache of everything that the console reads. Only what may pass is tried again. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) => error instanceof ApiError && error.transient && failures < 2,
      retryDelay: (attempt) => Math.min(RETRY_MAX_MS, 500 * 2 ** attempt),
      staleTime: 1000,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: true,
    },
    mutations: { retry: false },
  },
});

/** Reads everything on the screen again, after a change. */
export function refreshAll(): Promise<void> {
  return queryClient.invalidateQueries();
}
