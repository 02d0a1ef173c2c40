import { useEffect, useSyncExternalStore } from 'react';
import type { FeedState, LiveFeed } from './live-feed.ts';

const HIDDEN_REST_MS = 20_000;

export function useFeedState(feed: LiveFeed): FeedState {
  return useSyncExternalStore(feed.subscribe, feed.state);
}

/** A hidden tab closes its stream: browsers allow few connections to one server. */
export function useRestWhileHidden(feed: LiveFeed): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onChange = (): void => {
      clearTimeout(timer);
      if (document.visibilityState === 'hidden') timer = setTimeout(() => feed.rest(), HIDDEN_REST_MS);
      else feed.rouse();
    };
    document.addEventListener('visibilitychange', onChange);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onChange);
    };
  }, [feed]);
}
