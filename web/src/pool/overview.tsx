import { useCallback } from 'react';
import { getPool, poolHistory } from '../api/pool.ts';
import type { Census, Pool } from '@heddle/client';
import { ListTable } from '../list/list-table.tsx';
import type { Column } from '../list/list-table.tsx';
import { usePolled } from '../live/use-polled.ts';
import { formatAgo, parseTime, useNow } from '../times.ts';
import { pointsOf, sumOf, totalOf } from './history.ts';
import { HistoryChart } from './history-chart.tsx';
import { STATE_LABEL } from './runner-state.tsx';

const HOURS = 3;
const HOUR_MS = 3_600_000;
const HISTORY_REFRESH_MS = 20_000;

interface OverviewProps {
  /** Selected class; null: all. */
  resourceClass: string | null;
  onClass: (resourceClass: string | null) => void;
}

type Row = Census & { id: string };

const count = (header: string, read: (row: Row) => number): Column<Row> => ({
  header,
  number: true,
  cell: (row) => <Figure value={read(row)} />,
});

const COUNTS: readonly Column<Row>[] = [
  count(STATE_LABEL.idle, ({ idle }) => idle),
  count(STATE_LABEL.claimed, ({ claimed }) => claimed),
  count(STATE_LABEL.running, ({ running }) => running),
  count(STATE_LABEL.created, ({ created }) => created),
  {
    header: 'Waiting',
    number: true,
    cell: ({ waiting }) => (waiting === 0 ? <Figure value={0} /> : <strong>{waiting.toLocaleString()}</strong>),
  },
];

/** Overview of the pool: counts by class, problems, and the history of the last hours. */
export function Overview({ resourceClass, onClass }: OverviewProps) {
  const { value: pool } = usePolled(getPool);
  const readHistory = useCallback((signal: AbortSignal) => poolHistory(HOURS, signal), []);
  const { value: samples } = usePolled(readHistory, HISTORY_REFRESH_MS);
  const now = useNow(1000);
  if (pool === null) return null;
  const columns: Column<Row>[] = [
    {
      header: 'Class',
      className: 'row-name',
      cell: (row) => <ClassName row={row} chosen={resourceClass} onClass={onClass} />,
    },
    ...COUNTS,
  ];
  const rows = pool.census.map((census) => ({ ...census, id: `${census.resource_class} ${census.usage_class}` }));
  return (
    <section className="pool-overview" aria-label="Runners by class">
      <p className="quiet pool-total">
        <Total pool={pool} />
      </p>
      <Obstacles pool={pool} now={now} />
      {rows.length > 0 && <ListTable className="pool-census" columns={columns} rows={rows} now={now} />}
      {samples !== null && samples.length > 0 && (
        <HistoryChart points={pointsOf(samples, resourceClass, now - HOURS * HOUR_MS, now)} />
      )}
    </section>
  );
}

function Figure({ value }: { value: number }) {
  return value === 0 ? <span className="quiet">0</span> : <>{value.toLocaleString()}</>;
}

function ClassName({ row, chosen, onClass }: { row: Row; chosen: string | null } & Pick<OverviewProps, 'onClass'>) {
  const { resource_class: name, usage_class } = row;
  const isChosen = chosen === name;
  return (
    <>
      <button type="button" className="link" aria-pressed={isChosen} onClick={() => onClass(isChosen ? null : name)}>
        {name}
      </button>{' '}
      <span className="quiet">{usage_class}</span>
    </>
  );
}

function Total({ pool: { census, settings, provider, backend } }: { pool: Pool }) {
  const total = totalOf(sumOf(census));
  return (
    <>
      {total.toLocaleString()} of at most {settings.max_runners.toLocaleString()} runners · provider {provider} ·
      backend {backend}
    </>
  );
}

/** Reasons why launches are held back, and failing parts of the pool. */
function Obstacles({ pool: { obstacles, parts }, now }: { pool: Pool; now: number }) {
  const failed = parts.filter(({ error }) => error !== null);
  if (obstacles.length + failed.length === 0) return null;
  return (
    <div className="banner" role="status">
      {obstacles.map(({ requirements, reason, retry_at }) => {
        const retry = parseTime(retry_at);
        const subject = requirements === null ? 'Launches' : `Launches of ${requirements.resource_class}`;
        return (
          <p key={`${subject} ${reason}`}>
            <strong>{subject} are held back:</strong> {reason}
            {retry !== null && <span className="quiet"> · next attempt {formatAgo(retry, now)}</span>}
          </p>
        );
      })}
      {failed.map(({ name, error }) => (
        <p key={name}>
          <strong>Failing: {name}.</strong> {error}
        </p>
      ))}
    </div>
  );
}
