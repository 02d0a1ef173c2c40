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

/** The page of one batch: reads it, follows it, and says plainly what to do where it cannot. */
export function DagPage({ batchId }: { batchId: string }) {
  if (batchId === '') {
    return (
      <BlankPage title="Which batch?" ways={WAYS}>
        <p>The address of a graph ends with the id of its batch: /view?batch=ID.</p>
      </BlankPage>
    );
  }
  if (!isBatchId(batchId)) {
    return (
      <BlankPage title="This is not a batch id" ways={WAYS}>
        <p>
          <code className="breakable">{batchId}</code> is not an id that Heddle gives. Check that it was copied whole.
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
          This server knows no batch <code className="breakable">{batchId}</code>. It may have been deleted by
          retention, or it lives on another server.
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
        Either every task of the request was a duplicate of one that exists already, or the request was empty. Look at
        the answer to it: tasks that were deduplicated live in another batch.
      </p>
    </BlankPage>
  );
}
