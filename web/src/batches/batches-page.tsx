import { useCallback } from 'react';
import { listBatches } from '../api/client.ts';
import { ListPage, PAGE_SIZE, Segments } from '../list/list-page.tsx';
import { pageIn, usePlace, writeAddress } from '../list/place.ts';
import { usePolled } from '../live/use-polled.ts';
import { OpenBatch } from '../open-batch.tsx';
import { BatchTable } from './batch-table.tsx';

const FILTERS = {
  all: { label: 'All', open: null },
  open: { label: 'Open', open: true },
  finished: { label: 'Finished', open: false },
} as const;

type FilterName = keyof typeof FILTERS;

interface Query {
  page: number;
  filter: FilterName;
}

function readQuery(search: URLSearchParams): Query {
  const open = search.get('open');
  return { page: pageIn(search), filter: open === 'true' ? 'open' : open === 'false' ? 'finished' : 'all' };
}

function writeQuery({ page, filter }: Query): void {
  writeAddress('/', { page, open: FILTERS[filter].open });
}

/** The list of batches, newest first. */
export function BatchesPage() {
  const [query, go] = usePlace(readQuery, writeQuery);
  const { page, filter } = query;
  const { open } = FILTERS[filter];
  const read = useCallback(
    (signal: AbortSignal) => listBatches({ page, pageSize: PAGE_SIZE, open }, signal),
    [page, open],
  );
  const polled = usePolled(read);
  const beside = (
    <>
      <Segments
        label="Filter batches"
        options={FILTERS}
        chosen={filter}
        onChoose={(name) => go({ page: 0, filter: name })}
      />
      <OpenBatch />
    </>
  );
  return (
    <ListPage
      title="Batches"
      beside={beside}
      rows={polled.value}
      polled={polled}
      page={page}
      onPage={(next) => go({ page: next, filter })}
      empty={<NoBatches query={query} />}
    >
      {(rows, now) => <BatchTable rows={rows} now={now} />}
    </ListPage>
  );
}

function NoBatches({ query: { page, filter } }: { query: Query }) {
  if (page > 0) return <p className="notice">No older batches.</p>;
  if (filter === 'open') return <p className="notice">No open batches.</p>;
  if (filter === 'finished') return <p className="notice">No finished batches.</p>;
  return (
    <div className="notice">
      <p>No batches yet.</p>
      <p className="quiet">
        Send tasks to <code>POST /task</code>, or run <code>heddle batch submit FILE</code>: the batch appears here.
      </p>
    </div>
  );
}
