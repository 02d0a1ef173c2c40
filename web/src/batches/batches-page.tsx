import { useEffect, useState } from 'react';
import { ApiError, listBatches } from '../api/client.ts';
import type { Batch } from '../api/wire.ts';
import { OpenBatch } from '../open-batch.tsx';
import { Problem } from '../problem.tsx';
import { TopBar } from '../top-bar.tsx';
import { formatClock, useNow } from '../times.ts';
import { BatchTable } from './batch-table.tsx';

const PAGE_SIZE = 25;
const REFRESH_MS = 3000;

interface Query {
  page: number;
  open: boolean | null;
}

interface Listing {
  rows: Batch[] | null;
  error: unknown;
  heardAtMs: number | null;
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

/** Reads one page of batches, again every few seconds while the tab is seen. */
function useBatches({ page, open }: Query): Listing {
  const [listing, setListing] = useState<Listing>({ rows: null, error: null, heardAtMs: null });
  useEffect(() => {
    const stopped = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      try {
        const rows = await listBatches({ page, pageSize: PAGE_SIZE, open }, stopped.signal);
        setListing({ rows, error: null, heardAtMs: Date.now() });
      } catch (error) {
        if (stopped.signal.aborted) return;
        setListing((last) => ({ ...last, error }));
        if (error instanceof ApiError && !error.transient) return;
      }
      if (!stopped.signal.aborted) timer = setTimeout(() => void turn(), REFRESH_MS);
    };
    const turn = async (): Promise<void> => {
      if (document.visibilityState === 'visible') return read();
      document.addEventListener('visibilitychange', () => void turn(), { once: true, signal: stopped.signal });
    };
    void read();
    return () => {
      stopped.abort();
      clearTimeout(timer);
    };
  }, [page, open]);
  return listing;
}

const FILTERS: { label: string; open: boolean | null }[] = [
  { label: 'All', open: null },
  { label: 'Open', open: true },
  { label: 'Finished', open: false },
];

/** The list of batches, newest first. */
export function BatchesPage() {
  const [query, setQuery] = useState(readQuery);
  const { rows, error, heardAtMs } = useBatches(query);
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
        {rows !== null && (query.page > 0 || rows.length === PAGE_SIZE) && (
          <nav className="pager" aria-label="Pages">
            <button type="button" disabled={query.page === 0} onClick={() => go({ ...query, page: query.page - 1 })}>
              Newer
            </button>
            <span>Page {query.page + 1}</span>
            <button
              type="button"
              disabled={rows.length < PAGE_SIZE}
              onClick={() => go({ ...query, page: query.page + 1 })}
            >
              Older
            </button>
          </nav>
        )}
      </main>
    </div>
  );
}

function Trouble({ error, heardAtMs }: { error: unknown; heardAtMs: number | null }) {
  if (!(error instanceof ApiError) || !error.transient) return <Problem error={error} />;
  return (
    <div className="banner" role="status">
      <strong>{error.status === 0 ? 'The server cannot be reached.' : error.message}</strong> Reconnecting every few
      seconds.
      {heardAtMs === null
        ? ' Is it running, and at this address?'
        : ` Shown is how it was at ${formatClock(heardAtMs)}.`}
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
