import type { PoolRequest } from '@heddle/client';
import { Link } from 'wouter';
import { pool, releaseHold } from '../api/pool.ts';
import { useLive, useLiveList } from '../data/live.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { ConfirmButton } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';
import { ListView } from '../ui/list-view.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { notify } from '../ui/toast.tsx';
import { taskLabel, waitsFor, wantsOf } from './words.ts';

const COMMON: readonly Column<PoolRequest>[] = [
  { header: 'For', cell: (request) => <ForWhat request={request} /> },
  { header: 'Tenant', cell: ({ tenant }) => tenant },
  { header: 'Runners', cell: (request) => wantsOf(request) },
];

const WAITING: readonly Column<PoolRequest>[] = [
  ...COMMON,
  { header: 'Waits for', grow: true, cell: (request) => <WaitsFor request={request} /> },
  { header: 'Asked', cell: ({ created_at }) => <Ago at={created_at} /> },
];

const GRANTED: readonly Column<PoolRequest>[] = [
  ...COMMON,
  { header: 'Granted', grow: true, cell: ({ granted_at }) => <Ago at={granted_at} /> },
];

const OPERATIONS: Column<PoolRequest> = {
  header: 'Actions',
  cell: (request) => request.source === 'holder' && <ReleaseButton request={request} />,
};

function WaitsFor({ request }: { request: PoolRequest }) {
  const { data } = useLive(['pool'], pool.get);
  const { resource_class, usage_class } = request.requirements;
  const census = data?.census.find(
    (each) => each.resource_class === resource_class && each.usage_class === usage_class,
  );
  const words = waitsFor(request, census?.created ?? 0);
  return <span title={words}>{words}</span>;
}

/** Whom the runners are for: a task, or someone who holds them. */
export function ForWhat({ request: { source, run, task_name, attempt } }: { request: PoolRequest }) {
  if (source === 'holder') return run;
  return (
    <span>
      <Link href={`/tasks/${run}`} title={run}>
        {taskLabel(run, task_name)}
      </Link>
      {attempt !== null && attempt > 1 && <span className="quiet"> attempt {attempt}</span>}
    </span>
  );
}

/** Requests for runners: waiting ones in queue order, or granted ones. */
export function RequestsView({ state }: { state: 'waiting' | 'granted' }) {
  const can = useCan();
  const list = useLiveList<PoolRequest>(['pool', 'requests', state], (page, signal) =>
    pool.requests(state, page, signal),
  );
  const columns = state === 'waiting' ? WAITING : GRANTED;
  return (
    <ListView
      label={state === 'waiting' ? 'Waiting requests' : 'Granted requests'}
      list={list}
      columns={can('operate') ? [...columns, OPERATIONS] : columns}
      rowId={({ id }) => id}
      empty={
        state === 'waiting' ? (
          <Empty title="No waiting requests">Nothing waits for a runner.</Empty>
        ) : (
          <Empty title="No granted requests" command="heddle pool hold --class large --holder NAME">
            No task and no user has a runner.
          </Empty>
        )
      }
    />
  );
}

function ReleaseButton({ request: { id, run } }: { request: PoolRequest }) {
  const release = async (): Promise<void> => {
    await releaseHold(id);
    notify('Hold released', run);
    await refreshAll();
  };
  return (
    <ConfirmButton
      label="Release"
      verb="Release"
      look="danger"
      title={`Release the hold of ${run}?`}
      onConfirm={release}
    >
      The request ends and its runners are free at once, even if the holder still uses them.
    </ConfirmButton>
  );
}
