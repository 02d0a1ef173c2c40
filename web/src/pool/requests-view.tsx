import { useCallback } from 'react';
import type { ReactNode } from 'react';
import { letGo, listRequests } from '../api/pool.ts';
import type { PoolRequest } from '@heddle/client';
import { ConfirmButton } from '../confirm-button.tsx';
import { ListPage, PAGE_SIZE } from '../list/list-page.tsx';
import { agoOf, ListTable, momentOf } from '../list/list-table.tsx';
import type { Column } from '../list/list-table.tsx';
import { useOperation } from '../live/use-operation.ts';
import { usePolled } from '../live/use-polled.ts';
import { Problem } from '../problem.tsx';
import { waitsFor, wantsOf } from './words.ts';

interface RequestsViewProps {
  state: 'waiting' | 'granted';
  page: number;
  beside: ReactNode;
  overview: ReactNode;
  onPlace: (change: { page: number }) => void;
}

const COMMON: readonly Column<PoolRequest>[] = [
  { header: 'Runners', className: 'pool-wants', cell: wantsOf },
  {
    header: 'For',
    className: 'pool-for',
    cell: ({ source, run, attempt }) =>
      source === 'task' ? (
        <>
          task <span className="mono">{run}</span>
          {attempt !== null && attempt > 1 && <span className="quiet"> attempt {attempt}</span>}
        </>
      ) : (
        run
      ),
  },
  { header: 'Tenant', className: 'pool-for', cell: ({ tenant }) => tenant },
];

const WAITING: readonly Column<PoolRequest>[] = [
  ...COMMON,
  {
    header: 'Created',
    title: ({ created_at }) => momentOf(created_at),
    cell: ({ created_at }, now) => agoOf(created_at, now),
  },
  { header: 'Waiting for', className: 'pool-does', cell: waitsFor },
];

const GRANTED: readonly Column<PoolRequest>[] = [
  ...COMMON,
  {
    header: 'Granted',
    title: ({ granted_at }) => momentOf(granted_at),
    cell: ({ granted_at }, now) => agoOf(granted_at, now),
  },
];

const EMPTY = {
  waiting: 'No waiting requests',
  granted: 'No granted requests',
} as const;

/** Requests for runners: waiting ones in queue order, or granted ones. */
export function RequestsView({ state, page, beside, overview, onPlace }: RequestsViewProps) {
  const read = useCallback(
    (signal: AbortSignal) => listRequests({ page, pageSize: PAGE_SIZE, state }, signal),
    [page, state],
  );
  const polled = usePolled(read);
  const operations: Column<PoolRequest> = {
    header: 'Actions',
    cell: (request) =>
      request.source === 'holder' ? <ReleaseButton request={request} onDone={polled.reread} /> : null,
  };
  return (
    <ListPage
      title="Pool"
      beside={beside}
      filters={overview}
      rows={polled.value}
      polled={polled}
      page={page}
      onPage={(next) => onPlace({ page: next })}
      empty={<p className="notice">{page > 0 ? 'No more requests' : EMPTY[state]}</p>}
    >
      {(requests, now) => (
        <ListTable
          className="request-table"
          columns={[...(state === 'waiting' ? WAITING : GRANTED), operations]}
          rows={requests}
          now={now}
        />
      )}
    </ListPage>
  );
}

function ReleaseButton({ request, onDone }: { request: PoolRequest; onDone: () => void }) {
  const { busy, error, run } = useOperation(onDone);
  return (
    <>
      <ConfirmButton
        label="Release"
        title={`Release the hold of ${request.run}?`}
        verb="Release"
        refusal="Cancel"
        danger
        disabled={busy}
        onConfirm={() => run(() => letGo(request.id))}
      >
        <p>The request ends and its runners are free at once, even if the holder still uses them.</p>
      </ConfirmButton>
      {error !== null && <Problem error={error} />}
    </>
  );
}
