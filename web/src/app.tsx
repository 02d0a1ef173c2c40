import { Suspense, lazy } from 'react';
import { useSession } from './api/session.ts';
import { BatchesPage } from './batches/batches-page.tsx';
import { Login } from './login.tsx';
import { WorkflowPage } from './workflows/workflow-page.tsx';
import { WorkflowsPage } from './workflows/workflows-page.tsx';

const path = location.pathname.replace(/\/+$/, '');
const search = new URLSearchParams(location.search);
const workflowId = search.get('workflow')?.trim() ?? null;

// The graph libraries are large: other pages do not load them, and a graph page loads them at once.
const viewing = path === '/view' && workflowId === null;
const loadDagPage = async () => (await import('./dag/dag-page.tsx')).DagPage;
const dagPage = viewing ? loadDagPage() : null;
const DagPage = lazy(async () => ({ default: await (dagPage ?? loadDagPage()) }));
const JobsPage = lazy(async () => ({ default: (await import('./jobs/jobs-page.tsx')).JobsPage }));
const FindingsPage = lazy(async () => ({ default: (await import('./findings/findings-page.tsx')).FindingsPage }));
const ExecutorsPage = lazy(async () => ({ default: (await import('./executors/executors-page.tsx')).ExecutorsPage }));
const PoolPage = lazy(async () => ({ default: (await import('./pool/pool-page.tsx')).PoolPage }));
const SurfacePage = lazy(async () => ({ default: (await import('./surface/surface-page.tsx')).SurfacePage }));

export function App() {
  const session = useSession();
  if (session.locked !== 'no') return <Login refused={session.locked === 'refused'} />;
  return (
    <Suspense fallback={<p className="notice">Loading…</p>}>
      <Place key={session.epoch} />
    </Suspense>
  );
}

function Place() {
  if (path === '/view' && workflowId !== null) return <WorkflowPage workflowId={workflowId} />;
  if (viewing) return <DagPage batchId={search.get('batch')?.trim() ?? ''} />;
  if (path === '/workflows') return <WorkflowsPage />;
  if (path === '/jobs') return <JobsPage />;
  if (path === '/findings') return <FindingsPage />;
  if (path === '/surface') return <SurfacePage />;
  if (path === '/executors') return <ExecutorsPage />;
  if (path === '/pool') return <PoolPage />;
  return <BatchesPage />;
}
