import { useCallback } from 'react';
import { listWorkflows } from '../api/workflows.ts';
import { ListPage, PAGE_SIZE, Segments } from '../list/list-page.tsx';
import { pageIn, usePlace, writeAddress } from '../list/place.ts';
import { usePolled } from '../live/use-polled.ts';
import { WorkflowTable } from './workflow-table.tsx';

const FILTERS = {
  all: { label: 'All', open: null, state: null, empty: '' },
  open: { label: 'Open', open: true, state: null, empty: 'No open workflows.' },
  ended: { label: 'Finished', open: false, state: null, empty: 'No finished workflows.' },
  failed: { label: 'Failed', open: null, state: 'Failed', empty: 'No failed workflows.' },
} as const;

type FilterName = keyof typeof FILTERS;

interface Query {
  page: number;
  filter: FilterName;
}

function readQuery(search: URLSearchParams): Query {
  const filter = search.get('show') ?? 'all';
  return { page: pageIn(search), filter: filter in FILTERS ? (filter as FilterName) : 'all' };
}

function writeQuery({ page, filter }: Query): void {
  writeAddress('/workflows', { page, show: filter === 'all' ? null : filter });
}

/** The list of workflows, newest first. */
export function WorkflowsPage() {
  const [query, go] = usePlace(readQuery, writeQuery);
  const { page, filter } = query;
  const { open, state } = FILTERS[filter];
  const read = useCallback(
    (signal: AbortSignal) => listWorkflows({ page, pageSize: PAGE_SIZE, open, state }, signal),
    [page, open, state],
  );
  const polled = usePolled(read);
  return (
    <ListPage
      title="Workflows"
      beside={
        <Segments
          label="Filter workflows"
          options={FILTERS}
          chosen={filter}
          onChoose={(name) => go({ page: 0, filter: name })}
        />
      }
      rows={polled.value}
      polled={polled}
      page={page}
      onPage={(next) => go({ page: next, filter })}
      empty={<NoWorkflows query={query} />}
    >
      {(rows, now) => <WorkflowTable rows={rows} now={now} />}
    </ListPage>
  );
}

function NoWorkflows({ query: { page, filter } }: { query: Query }) {
  if (page > 0) return <p className="notice">No older workflows.</p>;
  if (filter !== 'all') return <p className="notice">{FILTERS[filter].empty}</p>;
  return (
    <div className="notice">
      <p>No workflows yet.</p>
      <p className="quiet">
        Send a tree of tasks to <code>POST /v1/workflows</code>, or run <code>heddle workflow submit FILE</code>: the
        workflow appears here. To start one on a schedule, create a <a href="/jobs">job</a>.
      </p>
    </div>
  );
}
