import { useCallback, useEffect, useState } from 'react';
import { listBatches } from '../api/client.ts';
import { usePolled } from '../live/use-polled.ts';
import { Trouble } from '../live/trouble.tsx';
import { OpenBatch } from '../open-batch.tsx';
import { Pager } from '../pager.tsx';
import { TopBar } from '../top-bar.tsx';
import { useNow } from '../times.ts';
import { BatchTable } from './batch-table.tsx';

const PAGE_SIZE = 25;

interface Query {
  page: number;
  open: boolean | null;
}

function readQuery(): Query {
  const search = new URLSearchParams(location.search);
  const page = Number(search.get('page') ?? 0);
  const open = search.get('open');
  return {
    page: Number.isInteger(page) && page > 0 ? page : 0,
    open: open === 'true' ? true : open === 'false' ? false : null,
  };
}

function writeQuery({ page, open }: Query): void {
  const search = new URLSearchParams();
  if (page > 0) search.set('page', String(page));
  if (open !== null) search.set('open', String(open));
  history.replaceState(null, '', search.size > 0 ? `/?${search}` : '/');
}

const FILTERS: { label: string; open: boolean | null }[] = [
  { label: 'All', open: null },
  { label: 'Open', open: true },
  { label: 'Finished', open: false },
];

/** The list of batches, newest first. */
export function BatchesPage() {
  const [query, setQuery] = useState(readQuery);
  const { page, open } = query;
  const read = useCallback(
    (signal: AbortSignal) => listBatches({ page, pageSize: PAGE_SIZE, open }, signal),
    [page, open],
  );
  const { value: rows, error, heardAtMs } = usePolled(read);
  const now = useNow(1000);
  useEffect(() => {
    document.title = 'Batches · Heddle';
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
          <h1>Batches</h1>
          <div className="segments" role="group" aria-label="Which batches">
            {FILTERS.map(({ label, open }) => (
              <button
                key={label}
                type="button"
                aria-pressed={query.open === open}
                onClick={() => go({ page: 0, open })}
              >
                {label}
              </button>
            ))}
          </div>
          <OpenBatch />
        </div>
        {error !== null && <Trouble error={error} heardAtMs={heardAtMs} />}
        {rows === null && error === null && <p className="quiet">Loading…</p>}
        {rows !== null && rows.length > 0 && <BatchTable rows={rows} now={now} />}
        {rows?.length === 0 && <NoBatches query={query} />}
        <Pager page={query.page} rows={rows} pageSize={PAGE_SIZE} onPage={(page) => go({ ...query, page })} />
      </main>
    </div>
  );
}

function NoBatches({ query }: { query: Query }) {
  if (query.page > 0) return <p className="notice">There are no older batches.</p>;
  if (query.open === true) return <p className="notice">Nothing is open: every batch is finished.</p>;
  if (query.open === false) return <p className="notice">No batch has finished yet.</p>;
  return (
    <div className="notice">
      <p>There are no batches yet.</p>
      <p className="quiet">
        Send tasks to <code>POST /task</code>, or run <code>heddle batch submit FILE</code>: the batch appears here.
      </p>
    </div>
  );
}
