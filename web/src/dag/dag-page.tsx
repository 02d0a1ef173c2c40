import { useEffect, useState } from 'react';
import { OpenBatch, isBatchId } from '../open-batch.tsx';
import { prepareLayout } from '../layout/client.ts';
import { LiveFeed } from '../live/live-feed.ts';
import { BlankPage, LivePage } from '../live/live-page.tsx';
import { DagSource } from './dag-source.ts';
import { TaskStore } from './task-store.ts';
import { useStoreVersion } from './subscriptions.ts';
import { Workbench } from './workbench.tsx';

const WAYS = (
  <>
    <OpenBatch />
    <p>
      <a href="/">All batches</a>
    </p>
  </>
);

/** The page of one batch: reads it, follows it, and explains what to do if it cannot. */
export function DagPage({ batchId }: { batchId: string }) {
  if (batchId === '') {
    return (
      <BlankPage title="Which batch?" ways={WAYS}>
        <p>The URL of a graph ends with the ID of its batch: /view?batch=ID.</p>
      </BlankPage>
    );
  }
  if (!isBatchId(batchId)) {
    return (
      <BlankPage title="Invalid batch ID" ways={WAYS}>
        <p>
          <code className="breakable">{batchId}</code> is not a valid batch ID. Check that you copied all of it.
        </p>
      </BlankPage>
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
  useStoreVersion(store);
  return (
    <LivePage
      feed={feed}
      loaded={store.loaded}
      title={store.batch?.name ?? `Batch ${batchId.slice(0, 8)}`}
      what="batch"
      parts="the tasks"
      unknown={
        <p>
          This server has no batch <code className="breakable">{batchId}</code>. It may have been deleted by retention,
          or belongs to another server.
        </p>
      }
      ways={WAYS}
    >
      {() => (store.tasks.size === 0 ? <NoTasks /> : <Workbench batchId={batchId} store={store} feed={feed} />)}
    </LivePage>
  );
}

function NoTasks() {
  return (
    <BlankPage title="This batch has no tasks" ways={WAYS}>
      <p>
        Either every task of the request was a duplicate of an existing one, or the request was empty. See its response:
        deduplicated tasks belong to another batch.
      </p>
    </BlankPage>
  );
}
