import { useCallback } from 'react';
import type { ReactNode } from 'react';
import { listRunners } from '../api/pool.ts';
import type { Runner } from '@heddle/client';
import type { RunnerState } from '../api/pool.ts';
import { ListPage, PAGE_SIZE, Segments } from '../list/list-page.tsx';
import { momentOf } from '../list/list-table.tsx';
import type { Column } from '../list/list-table.tsx';
import { OpeningTable } from '../list/opening-table.tsx';
import { usePolled } from '../live/use-polled.ts';
import { formatDuration, parseTime } from '../times.ts';
import type { Place } from './pool-page.tsx';
import { RunnerDetails } from './runner-details.tsx';
import { RunnerChip, STATE_LABEL } from './runner-state.tsx';
import { doingOf } from './words.ts';

interface RunnersViewProps {
  place: Place;
  beside: ReactNode;
  overview: ReactNode;
  onPlace: (change: Partial<Place>) => void;
}

const FILTERS = {
  live: { label: 'All' },
  idle: { label: STATE_LABEL.idle },
  claimed: { label: STATE_LABEL.claimed },
  running: { label: STATE_LABEL.running },
  created: { label: STATE_LABEL.created },
  terminated: { label: STATE_LABEL.terminated },
} as const satisfies Record<RunnerState | 'live', { label: string }>;

const COLUMNS: readonly Column<Runner>[] = [
  { header: 'State', cell: (runner) => <RunnerChip runner={runner} /> },
  {
    header: 'Class',
    cell: ({ resource_class, usage_class }) => (
      <>
        {resource_class} <span className="quiet">{usage_class}</span>
      </>
    ),
  },
  { header: 'Type', cell: ({ instance_type }) => instance_type ?? <span className="quiet">–</span> },
  {
    header: 'In state',
    number: true,
    title: ({ state_since }) => momentOf(state_since),
    cell: ({ state_since }, now) => lengthOf(state_since, now),
  },
  {
    header: 'Age',
    number: true,
    title: ({ created_at }) => momentOf(created_at),
    cell: ({ created_at }, now) => lengthOf(created_at, now),
  },
  { header: 'Activity', className: 'pool-does', cell: (runner, now) => doingOf(runner, now) },
];

function lengthOf(since: string, now: number): string {
  const at = parseTime(since);
  return at === null ? '–' : formatDuration(Math.max(0, now - at));
}

/** The list of runners; a row opens the details and actions of a runner. */
export function RunnersView({ place, beside, overview, onPlace }: RunnersViewProps) {
  const { page, state, resourceClass } = place;
  const read = useCallback(
    (signal: AbortSignal) => listRunners({ page, pageSize: PAGE_SIZE, state, resourceClass }, signal),
    [page, state, resourceClass],
  );
  const polled = usePolled(read);
  const filters = (
    <>
      {overview}
      <div className="list-filters">
        <Segments
          label="State"
          options={FILTERS}
          chosen={state ?? 'live'}
          onChoose={(name) => onPlace({ state: name === 'live' ? null : name })}
        />
        {resourceClass !== null && (
          <button type="button" onClick={() => onPlace({ resourceClass: null })}>
            Only {resourceClass} ✕
          </button>
        )}
      </div>
    </>
  );
  return (
    <ListPage
      title="Pool"
      beside={beside}
      filters={filters}
      rows={polled.value}
      polled={polled}
      page={page}
      onPage={(next) => onPlace({ page: next })}
      empty={<NoRunners place={place} />}
    >
      {(runners, now) => (
        <OpeningTable
          className="runner-table"
          opener={{
            header: 'Runner',
            label: ({ number }) => `No. ${number}`,
            below: ({ id }) => <span className="quiet mono pool-id">{id}</span>,
          }}
          columns={COLUMNS}
          rows={runners}
          now={now}
          open={place.runner}
          onOpen={(runner) => onPlace({ page, runner })}
          details={(runner) => <RunnerDetails key={runner.id} runner={runner} now={now} onDone={polled.reread} />}
        />
      )}
    </ListPage>
  );
}

function NoRunners({ place: { page, state, resourceClass } }: { place: Place }) {
  if (page > 0) return <p className="notice">No older runners</p>;
  if (state !== null || resourceClass !== null) return <p className="notice">No matching runners</p>;
  return (
    <div className="notice">
      <p>No runners</p>
      <p className="quiet">
        A task with <code>requirements</code> launches a runner when needed. To launch runners in advance, run{' '}
        <code>heddle pool provision --class large</code>, or set <code>HEDDLE_POOL_MIN_IDLE</code>.
      </p>
    </div>
  );
}
