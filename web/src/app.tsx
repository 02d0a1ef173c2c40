import { QueryClientProvider } from '@tanstack/react-query';
import { Suspense, lazy } from 'react';
import { Redirect, Route, Switch, useSearchParams } from 'wouter';
import { queryClient } from './data/query-client.ts';
import { SessionGate } from './shell/session-gate.tsx';
import { Shell } from './shell/shell.tsx';
import { NotFound } from './pages/not-found.tsx';
import { Loading } from './ui/loading.tsx';

// Each view is loaded when it is first opened; the graph libraries are large.
const JobsPage = lazy(async () => ({ default: (await import('./jobs/jobs-page.tsx')).JobsPage }));
const JobPage = lazy(async () => ({ default: (await import('./jobs/job-page.tsx')).JobPage }));
const FindingsPage = lazy(async () => ({ default: (await import('./findings/findings-page.tsx')).FindingsPage }));
const FindingPage = lazy(async () => ({ default: (await import('./findings/finding-page.tsx')).FindingPage }));
const ExecutorsPage = lazy(async () => ({ default: (await import('./executors/executors-page.tsx')).ExecutorsPage }));
const PoolPage = lazy(async () => ({ default: (await import('./pool/pool-page.tsx')).PoolPage }));
const SurfacePage = lazy(async () => ({ default: (await import('./surface/surface-page.tsx')).SurfacePage }));
const ModelPage = lazy(async () => ({ default: (await import('./surface/model-page.tsx')).ModelPage }));
const HostByAddress = lazy(async () => ({ default: (await import('./surface/host-by-address.tsx')).HostByAddress }));
const RunnerPage = lazy(async () => ({ default: (await import('./pool/runner-page.tsx')).RunnerPage }));
const ExecutorPage = lazy(async () => ({ default: (await import('./executors/executor-page.tsx')).ExecutorPage }));
const HomePage = lazy(async () => ({ default: (await import('./home/home-page.tsx')).HomePage }));
const FailurePage = lazy(async () => ({ default: (await import('./home/failure-page.tsx')).FailurePage }));
const RunsPage = lazy(async () => ({ default: (await import('./runs/runs-page.tsx')).RunsPage }));
const SubmitPage = lazy(async () => ({ default: (await import('./submit/submit-page.tsx')).SubmitPage }));
const RunPage = lazy(async () => ({ default: (await import('./runs/run-page.tsx')).RunPage }));
const GridPage = lazy(async () => ({ default: (await import('./runs/grid-page.tsx')).GridPage }));
const TaskPage = lazy(async () => ({ default: (await import('./task/task-page.tsx')).TaskPage }));
const WorkersPage = lazy(async () => ({ default: (await import('./places/workers-page.tsx')).WorkersPage }));
const QueuesPage = lazy(async () => ({ default: (await import('./places/queues-page.tsx')).QueuesPage }));
const RulesPage = lazy(async () => ({ default: (await import('./places/rules-page.tsx')).RulesPage }));
const WebhooksPage = lazy(async () => ({ default: (await import('./places/webhooks-page.tsx')).WebhooksPage }));
const AuditPage = lazy(async () => ({ default: (await import('./places/audit-page.tsx')).AuditPage }));
const SettingsPage = lazy(async () => ({ default: (await import('./settings/settings-page.tsx')).SettingsPage }));
const DesignPage = lazy(async () => ({ default: (await import('./design/design-page.tsx')).DesignPage }));

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <SessionGate>
        <Shell>
          <Suspense fallback={<Loading />}>
            <Views />
          </Suspense>
        </Shell>
      </SessionGate>
    </QueryClientProvider>
  );
}

function Views() {
  return (
    <Switch>
      <Route path="/" component={HomePage} />
      <Route path="/failures/:fingerprint" component={FailurePage} />
      <Route path="/runs" component={RunsPage} />
      <Route path="/runs/grid" component={GridPage} />
      <Route path="/runs/:id" component={RunPage} />
      <Route path="/submit" component={SubmitPage} />
      <Route path="/view" component={OldAddress} />
      <Route path="/workflows">
        <Redirect to="/runs?type=workflow" replace />
      </Route>
      <Route path="/jobs">
        <Redirect to={`/schedules${location.search}`} replace />
      </Route>
      <Route path="/schedules" component={JobsPage} />
      <Route path="/schedules/:job" component={JobPage} />
      <Route path="/workers" component={WorkersPage} />
      <Route path="/queues" component={QueuesPage} />
      <Route path="/rules" component={RulesPage} />
      <Route path="/webhooks" component={WebhooksPage} />
      <Route path="/audit" component={AuditPage} />
      <Route path="/settings" component={SettingsPage} />
      <Route path="/findings" component={FindingsPage} />
      <Route path="/findings/:id" component={FindingPage} />
      <Route path="/surface" component={SurfacePage} />
      <Route path="/surface/hosts/:address" component={HostByAddress} />
      <Route path="/surface/:id" component={ModelPage} />
      <Route path="/executors" component={ExecutorsPage} />
      <Route path="/executors/:endpoint" component={ExecutorPage} />
      <Route path="/pool" component={PoolPage} />
      <Route path="/pool/:id" component={RunnerPage} />
      <Route path="/tasks/:id" component={TaskPage} />
      <Route path="/design" component={DesignPage} />
      <Route component={NotFound} />
    </Switch>
  );
}

/** Addresses of earlier versions, which name a batch or a workflow. */
function OldAddress() {
  const [search] = useSearchParams();
  const id = (search.get('workflow') ?? search.get('batch') ?? '').trim();
  return <Redirect to={id === '' ? '/runs' : `/runs/${encodeURIComponent(id)}`} replace />;
}
