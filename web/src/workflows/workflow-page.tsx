import { useEffect, useState } from 'react';
import { LiveFeed } from '../live/live-feed.ts';
import { BlankPage, LivePage } from '../live/live-page.tsx';
import { isBatchId } from '../open-batch.tsx';
import { useStoreVersion } from './tree-context.ts';
import { TreeStore } from './tree-store.ts';
import { TreeView } from './tree-view.ts';
import { WorkflowSource } from './workflow-source.ts';
import { WorkflowWorkbench } from './workflow-workbench.tsx';

const WAYS = (
  <p>
    <a href="/workflows">All workflows</a>
  </p>
);

/** The page of one workflow: reads it, follows it, and explains what to do if it cannot. */
export function WorkflowPage({ workflowId }: { workflowId: string }) {
  if (isBatchId(workflowId)) return <LoadedPage workflowId={workflowId} />;
  return (
    <BlankPage title={workflowId === '' ? 'Which workflow?' : 'Invalid workflow ID'} ways={WAYS}>
      <p>
        The URL of a workflow ends with its ID: <code>/view?workflow=ID</code>. Check that you copied all of it.
      </p>
    </BlankPage>
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
  useStoreVersion(store);
  return (
    <LivePage
      feed={feed}
      loaded={store.loaded}
      title={store.workflow?.name ?? `Workflow ${workflowId.slice(0, 8)}`}
      what="workflow"
      parts="the tree"
      unknown={
        <p>
          This server has no workflow <code className="breakable">{workflowId}</code>. It may have been deleted by
          retention, or belongs to another server. If it is a batch,{' '}
          <a href={`/view?batch=${encodeURIComponent(workflowId)}`}>view its graph</a>.
        </p>
      }
      ways={WAYS}
    >
      {() => <WorkflowWorkbench workflowId={workflowId} model={{ store, view }} feed={feed} />}
    </LivePage>
  );
}
