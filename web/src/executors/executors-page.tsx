import type { Executor } from '@heddle/client';
import { Link, Redirect } from 'wouter';
import { listExecutors } from '../api/executors.ts';
import { executorAddress } from '../data/addresses.ts';
import { useFilters } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { Empty } from '../ui/empty.tsx';
import { LiveTable } from '../ui/live-table.tsx';
import { Page } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { ExecutorBadge, troublesOf } from './executor-state.tsx';
import { BusyWorkers } from './busy-workers.tsx';

const COLUMNS: readonly Column<Executor>[] = [
  { header: 'State', cell: ({ state }) => <ExecutorBadge state={state} /> },
  { header: 'Endpoint', cell: ({ endpoint }) => <Link href={executorAddress(endpoint)}>{endpoint}</Link> },
  { header: 'Executor', cell: ({ executor }) => executor },
  { header: 'Isolation', optional: true, cell: ({ status }) => status?.tier ?? '–' },
  { header: 'Workers', cell: ({ status }) => (status === null ? '–' : <BusyWorkers status={status} />) },
  {
    header: 'Queue',
    number: true,
    cell: ({ status }) => (status === null ? '–' : `${status.queue_depth} of ${status.max_pending_tasks}`),
  },
  { header: 'Responded', cell: ({ answered_at }) => <Ago at={answered_at} absent="never" /> },
  { header: 'Problem', grow: true, cell: (executor) => <Problem executor={executor} /> },
];

function Problem({ executor }: { executor: Executor }) {
  const { last_error } = executor;
  const [trouble] = troublesOf(executor);
  const cause = last_error?.message ?? trouble?.cause;
  if (cause === undefined) return null;
  return (
    <span title={[cause, trouble?.remedy].filter((part) => part !== undefined).join('\n')}>
      {cause}
      {last_error !== null && (
        <span className="quiet">
          {' '}
          <Ago at={last_error.at} />
        </span>
      )}
    </span>
  );
}

/** The processes on other machines that run remote events, with their health. */
export function ExecutorsPage() {
  const [{ endpoint }] = useFilters(['endpoint']);
  const answer = useLive(['executors'], listExecutors);
  // Older addresses name the executor in the query.
  if (endpoint !== '') return <Redirect to={executorAddress(endpoint)} replace />;
  return (
    <Page
      title="Executors"
      lead="An executor runs tasks of the kind RemoteEvent on another machine, each in a sandbox."
    >
      <LiveTable
        label="Executors"
        answer={answer}
        columns={COLUMNS}
        rowId={({ endpoint: id }) => id}
        href={({ endpoint: id }) => executorAddress(id)}
        empty={
          <Empty title="No executors configured" command="heddle executor">
            Start an executor on the other machine, and name it in <code>HEDDLE_EXECUTORS</code> and{' '}
            <code>HEDDLE_EXECUTOR_CLIENT</code> of this server:
          </Empty>
        }
      />
    </Page>
  );
}
