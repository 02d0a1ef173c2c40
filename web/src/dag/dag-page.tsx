import { useEffect, useState } from 'react';
import type { ApiError } from '../api/client.ts';
import { OpenBatch, isBatchId } from '../open-batch.tsx';
import { Problem } from '../problem.tsx';
import { TopBar } from '../top-bar.tsx';
import { prepareLayout } from '../layout/client.ts';
import { FeedBanner } from '../live/feed-banner.tsx';
import { LiveFeed } from '../live/live-feed.ts';
import { useFeedState, useRestWhileHidden } from '../live/use-feed.ts';
import { DagSource } from './dag-source.ts';
import { TaskStore } from './task-store.ts';
import { useStoreVersion } from './subscriptions.ts';
import { Workbench } from './workbench.tsx';

/** The page of one batch: reads it, follows it, and says plainly what to do where it cannot. */
export function DagPage({ batchId }: { batchId: string }) {
  if (batchId === '') {
    return (
      <Blank title="Which batch?">
        <p>The address of a graph ends with the id of its batch: /view?batch=ID.</p>
      </Blank>
    );
  }
  if (!isBatchId(batchId)) {
    return (
      <Blank title="This is not a batch id">
        <p>
          <code className="breakable">{batchId}</code> is not an id that Heddle gives. Check that it was copied whole.
        </p>
      </Blank>
    );
  }
  return <LoadedPage batchId={batchId} />;
}

function LoadedPage({ batchId }: { batchId: string }) {
  const [{ store, feed }] = useState(() => {
    const fresh = new TaskStore();
    return { store: fresh, feed: new LiveFeed(new DagSource(batchId, fresh)) };
  });
  useEffect(() => {
    prepareLayout();
    feed.start();
    return () => feed.stop();
  }, [feed]);
  useRestWhileHidden(feed);
  useStoreVersion(store);
  const { phase } = useFeedState(feed);
  const name = store.batch?.name ?? null;
  useEffect(() => {
    document.title = `${name ?? `Batch ${batchId.slice(0, 8)}`} · Heddle`;
  }, [name, batchId]);

  if (phase.name === 'failed') return <Failed batchId={batchId} error={phase.error} onRetry={() => feed.start()} />;
  if (!store.loaded) {
    return (
      <div className="page">
        <TopBar />
        <FeedBanner feed={feed} />
        <p className="notice" role="status">
          Loading the tasks of this batch…
        </p>
      </div>
    );
  }
  if (store.tasks.size === 0) {
    return (
      <Blank title="This batch has no tasks">
        <p>
          Either every task of the request was a duplicate of one that exists already, or the request was empty. Look at
          the answer to it: tasks that were deduplicated live in another batch.
        </p>
      </Blank>
    );
  }
  return <Workbench batchId={batchId} store={store} feed={feed} />;
}

function Failed({ batchId, error, onRetry }: { batchId: string; error: ApiError; onRetry: () => void }) {
  if (error.status === 404) {
    return (
      <Blank title="There is no such batch">
        <p>
          This server knows no batch <code className="breakable">{batchId}</code>. It may have been deleted by
          retention, or it lives on another server.
        </p>
      </Blank>
    );
  }
  return (
    <Blank title={error.status === 403 ? 'Your token does not allow this' : 'The batch cannot be shown'}>
      <Problem error={error} />
      <p>
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      </p>
    </Blank>
  );
}

function Blank({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <div className="page">
      <TopBar />
      <main className="card blank">
        <h1>{title}</h1>
        {children}
        <OpenBatch />
        <p>
          <a href="/">All batches</a>
        </p>
      </main>
    </div>
  );
}
