import { useCallback, useEffect, useState } from 'react';
import { listWorkflows } from '../api/workflows.ts';
import { Trouble } from '../live/trouble.tsx';
import { usePolled } from '../live/use-polled.ts';
import { Pager } from '../pager.tsx';
import { useNow } from '../times.ts';
import { TopBar } from '../top-bar.tsx';
import { WorkflowTable } from './workflow-table.tsx';

const PAGE_SIZE = 25;

const FILTERS = {
  all: { label: 'All', open: null, state: null, empty: '' },
  open: { label: 'Open', open: true, state: null, empty: 'Nothing is open: every workflow has ended.' },
  ended: { label: 'Finished', open: false, state: null, empty: 'No workflow has finished yet.' },
  failed: { label: 'Failed', open: null, state: 'Failed', empty: 'No workflow has failed.' },
} as const;

type FilterName = keyof typeof FILTERS;

interface Query {
  page: number;
  filter: FilterName;
}

function readQuery(): Query {
  const search = new URLSearchParams(location.search);
  const page = Number(search.get('page') ?? 0);
  const filter = search.get('show') ?? 'all';
  return {
    page: Number.isInteger(page) && page > 0 ? page : 0,
    filter: filter in FILTERS ? (filter as FilterName) : 'all',
  };
}

function writeQuery({ page, filter }: Query): void {
  const search = new URLSearchParams();
  if (page > 0) search.set('page', String(page));
  if (filter !== 'all') search.set('show', filter);
  history.replaceState(null, '', search.size > 0 ? `/workflows?${search}` : '/workflows');
}

/** The list of workflows, newest first. */
export function WorkflowsPage() {
  const [query, setQuery] = useState(readQuery);
  const { page, filter } = query;
  const { open, state } = FILTERS[filter];
  const read = useCallback(
    (signal: AbortSignal) => listWorkflows({ page, pageSize: PAGE_SIZE, open, state }, signal),
    [page, open, state],
  );
  const { value: rows, error, heardAtMs } = usePolled(read);
  const now = useNow(1000);
  useEffect(() => {
    document.title = 'Workflows · Heddle';
  }, []);
  const go = (next: Query): void => {
    writeQuery(next);
    setQuery(next);
  };
  return (
    <div className="page">
      <TopBar />
      <main className="batches">
        <div className="batches-head">
          <h1>Workflows</h1>
          <div className="segments" role="group" aria-label="Which workflows">
            {(Object.keys(FILTERS) as FilterName[]).map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={filter === name}
                onClick={() => go({ page: 0, filter: name })}
              >
                {FILTERS[name].label}
              </button>
            ))}
          </div>
        </div>
        {error !== null && <Trouble error={error} heardAtMs={heardAtMs} />}
        {rows === null && error === null && <p className="quiet">Loading…</p>}
        {rows !== null && rows.length > 0 && <WorkflowTable rows={rows} now={now} />}
        {rows?.length === 0 && <NoWorkflows query={query} />}
        <Pager page={page} rows={rows} pageSize={PAGE_SIZE} onPage={(next) => go({ page: next, filter })} />
      </main>
    </div>
  );
}

function NoWorkflows({ query: { page, filter } }: { query: Query }) {
  if (page > 0) return <p className="notice">There are no older workflows.</p>;
  if (filter !== 'all') return <p className="notice">{FILTERS[filter].empty}</p>;
  return (
    <div className="notice">
      <p>There are no workflows yet.</p>
      <p className="quiet">
        Send a tree of tasks to <code>POST /v1/workflows</code>, or run <code>heddle workflow submit FILE</code>: the
        workflow appears here. To start one by the clock, make it a <a href="/jobs">job</a>.
      </p>
    </div>
  );
}
