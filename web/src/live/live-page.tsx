import { useEffect } from 'react';
import type { ReactNode } from 'react';
import { Problem } from '../problem.tsx';
import { TopBar } from '../top-bar.tsx';
import { FeedBanner } from './feed-banner.tsx';
import type { LiveFeed } from './live-feed.ts';
import { useFeedState, useRestWhileHidden } from './use-feed.ts';

interface LivePageProps {
  feed: LiveFeed;
  /** Whether there is something to show. */
  loaded: boolean;
  /** Title of the document. */
  title: string;
  what: 'batch' | 'workflow';
  /** Noun for what is loaded first. */
  parts: string;
  /** Shown if the server has no such object. */
  unknown: ReactNode;
  /** Links from a page that has nothing to show. */
  ways: ReactNode;
  children: () => ReactNode;
}

/** The frame of a live page: reads its object, and explains what to do if it cannot. */
export function LivePage({ feed, loaded, title, what, parts, unknown, ways, children }: LivePageProps) {
  useRestWhileHidden(feed);
  const { phase } = useFeedState(feed);
  useEffect(() => {
    document.title = `${title} · Heddle`;
  }, [title]);
  if (phase.name === 'failed') {
    const { error } = phase;
    if (error.status === 404) {
      return (
        <BlankPage title={`No such ${what}`} ways={ways}>
          {unknown}
        </BlankPage>
      );
    }
    return (
      <BlankPage
        title={error.status === 403 ? 'Your token does not allow this' : `The ${what} cannot be shown`}
        ways={ways}
      >
        <Problem error={error} />
        <p>
          <button type="button" onClick={() => feed.start()}>
            Try again
          </button>
        </p>
      </BlankPage>
    );
  }
  if (loaded) return children();
  return (
    <div className="page">
      <TopBar />
      <FeedBanner feed={feed} />
      <p className="notice" role="status">
        Loading {parts} of this {what}…
      </p>
    </div>
  );
}

/** Shown instead of missing content: the reason, and where to go. */
export function BlankPage({ title, ways, children }: { title: string; ways: ReactNode; children: ReactNode }) {
  return (
    <div className="page">
      <TopBar />
      <main className="card blank">
        <h1>{title}</h1>
        {children}
        {ways}
      </main>
    </div>
  );
}
