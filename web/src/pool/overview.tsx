import type { Census, Pool } from '@heddle/client';
import { useMemo } from 'react';
import { COUNTED_STATES, pool as api } from '../api/pool.ts';
import type { CountedState, Counts } from '../api/pool.ts';
import { useLive } from '../data/live.ts';
import { Chart } from '../ui/chart.tsx';
import type { Series } from '../ui/chart.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Count } from '../ui/time.tsx';
import { pointsOf, sumOf, totalOf } from './history.ts';
import type { Point } from './history.ts';
import { STATE_LABEL } from './runner-state.tsx';

const HOURS = 3;
const HOUR_MS = 3_600_000;
const HISTORY_REFRESH_MS = 20_000;

interface OverviewProps {
  /** Selected class; empty: all. */
  resourceClass: string;
  onClass: (resourceClass: string) => void;
}

/** The capacity by class, what holds back launches, and the history of the last hours. */
export function Overview({ resourceClass, onClass }: OverviewProps) {
  const { data: pool, error, dataUpdatedAt } = useLive(['pool'], api.get);
  const { data: samples } = useLive(['pool', 'history'], api.history, { every: HISTORY_REFRESH_MS });
  const columns = useMemo(() => columnsOf(resourceClass, onClass), [resourceClass, onClass]);
  if (pool === undefined) return error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />;
  return (
    <section className="pool-overview" aria-label="Capacity by class">
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      <Capacity pool={pool} />
      <Obstacles pool={pool} />
      <div className="columns">
        {pool.census.length > 0 && (
          <Table
            label="Runners by class"
            columns={columns}
            rows={pool.census}
            rowId={({ resource_class, usage_class }) => `${resource_class} ${usage_class}`}
            openId={resourceClass === '' ? null : `${resourceClass} on-demand`}
          />
        )}
        {samples !== undefined && samples.length > 0 && <History samples={samples} resourceClass={resourceClass} />}
      </div>
    </section>
  );
}

function Capacity({ pool: { census, settings, provider, backend } }: { pool: Pool }) {
  const sum = sumOf(census);
  const total = totalOf(sum);
  const free = Math.max(0, settings.max_runners - total);
  return (
    <div className="pool-capacity">
      <strong>
        {total.toLocaleString()} of at most {settings.max_runners.toLocaleString()} runners
      </strong>
      <CapacityBar counts={sum} free={free} />
      <span className="quiet">
        launched by {provider}, found by {backend}
      </span>
    </div>
  );
}

const FILL: Readonly<Record<CountedState, string>> = {
  running: 'fill-running',
  claimed: 'fill-claimed',
  idle: 'fill-succeeded',
  created: 'fill-pending',
};

/** The runners by state, and what is left up to the limit. */
function CapacityBar({ counts, free }: { counts: Counts; free: number }) {
  const parts = COUNTED_STATES.filter((state) => counts[state] > 0);
  const words = [
    ...parts.map((state) => `${counts[state].toLocaleString()} ${STATE_LABEL[state].toLowerCase()}`),
    `${free.toLocaleString()} more possible`,
  ].join(', ');
  return (
    <span className="outcome-bar" role="img" aria-label={`Capacity: ${words}`} title={words}>
      {parts.map((state) => (
        <span key={state} className={`outcome-part ${FILL[state]}`} style={{ flexGrow: counts[state] }} />
      ))}
      <span style={{ flexGrow: free }} />
    </span>
  );
}

function columnsOf(chosen: string, onClass: (name: string) => void): readonly Column<Census>[] {
  const count = (header: string, read: (row: Census) => number): Column<Census> => ({
    header,
    number: true,
    cell: (row) => <span className={read(row) === 0 ? 'quiet' : undefined}>{read(row).toLocaleString()}</span>,
  });
  return [
    {
      header: 'Class',
      grow: true,
      cell: ({ resource_class: name, usage_class }) => (
        <span>
          <button
            type="button"
            className="link"
            aria-pressed={chosen === name}
            onClick={() => onClass(chosen === name ? '' : name)}
          >
            {name}
          </button>{' '}
          <span className="quiet">{usage_class}</span>
        </span>
      ),
    },
    count(STATE_LABEL.running, ({ running }) => running),
    count(STATE_LABEL.claimed, ({ claimed }) => claimed),
    count(STATE_LABEL.idle, ({ idle }) => idle),
    count(STATE_LABEL.created, ({ created }) => created),
    {
      header: 'Waited for',
      number: true,
      cell: ({ waiting }) =>
        waiting === 0 ? (
          <span className="quiet">0</span>
        ) : (
          <strong>
            <Count n={waiting} />
          </strong>
        ),
    },
  ];
}

/** Why launches are held back, and failing parts of the pool, each with what to do. */
function Obstacles({ pool: { obstacles, parts } }: { pool: Pool }) {
  const failed = parts.filter(({ error }) => error !== null);
  if (obstacles.length + failed.length === 0) return null;
  return (
    <div className="banner" role="note" aria-label="What holds back launches">
      {obstacles.map(({ requirements, reason, retry_at }) => {
        const subject = requirements === null ? 'Launches' : `Launches of ${requirements.resource_class}`;
        return (
          <p key={`${subject} ${reason}`}>
            <strong>{subject} are held back:</strong> {reason}
            {retry_at !== null && (
              <span className="quiet">
                {' '}
                · next attempt <Ago at={retry_at} />
              </span>
            )}
          </p>
        );
      })}
      {failed.map(({ name, error }) => (
        <p key={name}>
          <strong>Failing: {name}.</strong> {error}{' '}
          <span className="quiet">It is tried again; the log of the server has the cause.</span>
        </p>
      ))}
    </div>
  );
}

const LINES: readonly { label: string; colour: string; read: (point: Point) => number }[] = [
  { label: STATE_LABEL.running, colour: '--status-running', read: ({ running }) => running },
  { label: STATE_LABEL.claimed, colour: '--status-claimed', read: ({ claimed }) => claimed },
  { label: STATE_LABEL.idle, colour: '--status-success', read: ({ idle }) => idle },
  { label: STATE_LABEL.created, colour: '--status-pending', read: ({ created }) => created },
  { label: 'Waited for', colour: '--status-failure', read: ({ waiting }) => waiting },
];

function History({ samples, resourceClass }: { samples: Parameters<typeof pointsOf>[0]; resourceClass: string }) {
  const { at, series } = useMemo(() => {
    const now = Date.now();
    const points = pointsOf(samples, resourceClass, now - HOURS * HOUR_MS, now);
    return {
      at: points.map((point) => point.at / 1000),
      series: LINES.map(({ label, colour, read }): Series => ({ label, colour, values: points.map(read) })),
    };
  }, [samples, resourceClass]);
  const subject = resourceClass === '' ? 'Runners' : `Runners of ${resourceClass}`;
  return (
    <div data-testid="pool-history">
      <Chart
        title={`${subject}, the last ${HOURS} hours`}
        at={at}
        series={series}
        format={(value) => (Number.isInteger(value) ? value.toLocaleString() : '')}
      />
    </div>
  );
}
