import { useSyncExternalStore } from 'react';
import type { FeedState, LiveFeed } from './live-feed.ts';
import type { TaskStore } from './task-store.ts';

/** Renders again with every change of the store; returns its version, for dependency lists. */
export function useStoreVersion(store: TaskStore): number {
  return useSyncExternalStore(store.subscribe, () => store.version);
}

export function useFeedState(feed: LiveFeed): FeedState {
  return useSyncExternalStore(feed.subscribe, feed.state);
}
