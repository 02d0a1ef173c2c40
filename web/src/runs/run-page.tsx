import { useParams } from 'wouter';
import { ApiError } from '../api/client.ts';
import { getRun } from '../api/runs.ts';
import { useFilters } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { LinkButton } from '../ui/button.tsx';
import { Page } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { BatchView } from '../dag/batch-view.tsx';
import { WorkflowView } from '../workflows/workflow-view.tsx';
import { RunHead } from './run-head.tsx';
import { RunTasks } from './run-tasks.tsx';
import { TimelineView } from './timeline-view.tsx';
import { Loading } from '../ui/loading.tsx';

/** One run: its graph or tree, its timeline, its tasks. */
export function RunPage() {
  const { id } = useParams<{ id: string }>();
  return <RunView key={id} id={id} />;
}

function RunView({ id }: { id: string }) {
  const [{ view }] = useFilters(['view']);
  const { data: run, error, dataUpdatedAt } = useLive(['run', id], (signal) => getRun(id, signal));
  if (run === undefined) {
    const isUnknown = error instanceof ApiError && (error.status === 404 || error.status === 400);
    return (
      <Page title={isUnknown ? 'No such run' : 'Run'} crumbs={[{ label: 'Runs', href: '/runs' }]}>
        {error === null && <Loading />}
        {isUnknown && (
          <>
            <p>
              This server has no run <code className="breakable">{id}</code>. Retention may have deleted it, or it
              belongs to another server.
            </p>
            <LinkButton href="/runs">Runs</LinkButton>
          </>
        )}
        {error !== null && !isUnknown && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      </Page>
    );
  }
  return (
    <main id="content" className="run-view" data-view={view || 'graph'} tabIndex={-1}>
      <RunHead run={run} />
      {view === 'timeline' && <TimelineView run={run} />}
      {view === 'tasks' && <RunTasks run={run} />}
      {view !== 'timeline' &&
        view !== 'tasks' &&
        (run.type === 'workflow' ? <WorkflowView run={run} /> : <BatchView run={run} />)}
    </main>
  );
}
