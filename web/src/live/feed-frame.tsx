import { useEffect } from 'react';
import type { ReactNode } from 'react';
import { Button } from '../ui/button.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { FeedBanner } from './feed-banner.tsx';
import type { LiveFeed } from './live-feed.ts';
import { useFeedState, useRestWhileHidden } from './use-feed.ts';

interface FeedFrameProps {
  feed: LiveFeed;
  /** When the run ended, as the run's own record has it; null: it has not. */
  endedAt: string | null;
  /** Whether there is something to show. */
  loaded: boolean;
  children: () => ReactNode;
}

/** Follows a run: shows its content as soon as there is some, and what is wrong if it cannot be read. */
export function FeedFrame({ feed, endedAt, loaded, children }: FeedFrameProps) {
  useRestWhileHidden(feed);
  const { phase } = useFeedState(feed);
  useEffect(() => {
    // Its stream has ended; since then it went on, after a retry, and perhaps ended again.
    if (phase.name === 'ended' && endedAt !== feed.endedAt) feed.reopen();
  }, [feed, endedAt]);
  if (phase.name === 'failed') {
    return (
      <div className="view">
        <ProblemBox error={phase.error} />
        <Button onClick={() => feed.start()}>Try again</Button>
      </div>
    );
  }
  return (
    <>
      <FeedBanner feed={feed} />
      {loaded ? (
        children()
      ) : (
        <p className="quiet loading" role="status">
          Loading…
        </p>
      )}
    </>
  );
}
