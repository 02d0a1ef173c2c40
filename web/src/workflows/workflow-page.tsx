import { useEffect, useState } from 'react';
import type { ApiError } from '../api/client.ts';
import { FeedBanner } from '../live/feed-banner.tsx';
import { LiveFeed } from '../live/live-feed.ts';
import { useFeedState, useRestWhileHidden } from '../live/use-feed.ts';
import { isBatchId } from '../open-batch.tsx';
import { Problem } from '../problem.tsx';
import { TopBar } from '../top-bar.tsx';
import { useStoreVersion } from './tree-context.ts';
import { TreeStore } from './tree-store.ts';
import { TreeView } from './tree-view.ts';
import { WorkflowSource } from './workflow-source.ts';
import { WorkflowWorkbench } from './workflow-workbench.tsx';

/** The page of one workflow: reads it, follows it, and says plainly what to do where it cannot. */
export function WorkflowPage({ workflowId }: { workflowId: string }) {
  if (isBatchId(workflowId)) return <LoadedPage workflowId={workflowId} />;
  return (
    <Blank title={workflowId === '' ? 'Which workflow?' : 'This is not a workflow id'}>
      <p>
        The address of a workflow ends with its id: <code>/view?workflow=ID</code>. Check that it was copied whole.
      </p>
    </Blank>
  );
}

function LoadedPage({ workflowId }: { workflowId: string }) {
  const [{ store, source, feed, view }] = useState(() => {
    const fresh = new TreeStore();
    const from = new WorkflowSource(workflowId, fresh);
    return { store: fresh, source: from, feed: new LiveFeed(from), view: new TreeView(fresh, from.loadPage) };
  });
  useEffect(() => {
    const close = source.open();
    const detach = view.attach();
    feed.start();
    return () => {
      feed.stop();
      detach();
      close();
    };
  }, [source, view, feed]);
  useRestWhileHidden(feed);
  useStoreVersion(store);
  const { phase } = useFeedState(feed);
  const name = store.workflow?.name ?? null;
  useEffect(() => {
    document.title = `${name ?? `Workflow ${workflowId.slice(0, 8)}`} · Heddle`;
  }, [name, workflowId]);

  if (phase.name === 'failed')
    return <Failed workflowId={workflowId} error={phase.error} onRetry={() => feed.start()} />;
  if (!store.loaded) {
    return (
      <div className="page">
        <TopBar />
        <FeedBanner feed={feed} />
        <p className="notice" role="status">
          Loading the tree of this workflow…
        </p>
      </div>
    );
  }
  return <WorkflowWorkbench workflowId={workflowId} model={{ store, view }} feed={feed} />;
}

function Failed({ workflowId, error, onRetry }: { workflowId: string; error: ApiError; onRetry: () => void }) {
  if (error.status === 404) {
    return (
      <Blank title="There is no such workflow">
        <p>
          This server knows no workflow <code className="breakable">{workflowId}</code>. It may have been deleted by
          retention, or it lives on another server. If it is a batch of tasks,{' '}
          <a href={`/view?batch=${encodeURIComponent(workflowId)}`}>look at its graph</a>.
        </p>
      </Blank>
    );
  }
  return (
    <Blank title={error.status === 403 ? 'Your token does not allow this' : 'The workflow cannot be shown'}>
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
        <p>
          <a href="/workflows">All workflows</a>
        </p>
      </main>
    </div>
  );
}
