import { Suspense, lazy } from 'react';
import { useSession } from './api/session.ts';
import { BatchesPage } from './batches/batches-page.tsx';
import { Login } from './login.tsx';

// The graph's libraries are large: the list of batches does not wait for them, and a graph's page asks for them at once.
const viewing = location.pathname.replace(/\/+$/, '') === '/view';
const loadDagPage = () => import('./dag/dag-page.tsx');
const dagPage = viewing ? loadDagPage() : null;
const DagPage = lazy(async () => ({ default: (await (dagPage ?? loadDagPage())).DagPage }));

export function App() {
  const session = useSession();
  if (session.locked !== 'no') return <Login refused={session.locked === 'refused'} />;
  if (!viewing) return <BatchesPage key={session.epoch} />;
  const batchId = new URLSearchParams(location.search).get('batch')?.trim() ?? '';
  return (
    <Suspense fallback={<p className="notice">Loading…</p>}>
      <DagPage key={session.epoch} batchId={batchId} />
    </Suspense>
  );
}
