import { Fragment, useCallback } from 'react';
import { listExecutors } from '../api/executors.ts';
import type { Executor } from '@heddle/client';
import { ListPage } from '../list/list-page.tsx';
import { TableHead } from '../list/list-table.tsx';
import { usePlace, writeAddress } from '../list/place.ts';
import { usePolled } from '../live/use-polled.ts';
import { formatAgo, formatMoment, parseTime } from '../times.ts';
import { ExecutorChip } from './executor-state.tsx';
import { RecentTasks } from './recent-tasks.tsx';

interface Query {
  /** The endpoint whose tasks are shown. */
  endpoint: string | null;
}

const HEADERS = [
  { header: 'Endpoint' },
  { header: 'Health' },
  { header: 'Tier' },
  { header: 'Workers' },
  { header: 'Queue', number: true },
  { header: 'Last error' },
];

function readQuery(search: URLSearchParams): Query {
  return { endpoint: search.get('endpoint') };
}

function writeQuery({ endpoint }: Query): void {
  writeAddress('/executors', { page: 0, endpoint });
}

/** Executors of remote events with their health; a row opens the recent tasks. */
export function ExecutorsPage() {
  const [query, go] = usePlace(readQuery, writeQuery);
  const read = useCallback((signal: AbortSignal) => listExecutors(signal), []);
  const polled = usePolled(read);
  return (
    <ListPage
      title="Executors"
      beside={<p className="quiet">Executors of remote events</p>}
      rows={polled.value}
      counted={null}
      polled={polled}
      page={0}
      onPage={() => undefined}
      empty={<NoExecutors />}
    >
      {(executors, now) => (
        <table className="batch-table executor-table">
          <TableHead headers={HEADERS} />
          <tbody>
            {executors.map((executor) => (
              <ExecutorRows
                key={`${executor.executor} ${executor.endpoint}`}
                executor={executor}
                now={now}
                open={query.endpoint === executor.endpoint}
                onOpen={(open) => go({ endpoint: open ? executor.endpoint : null })}
              />
            ))}
          </tbody>
        </table>
      )}
    </ListPage>
  );
}

interface RowsProps {
  executor: Executor;
  now: number;
  open: boolean;
  onOpen: (open: boolean) => void;
}

function ExecutorRows({ executor, now, open, onOpen }: RowsProps) {
  const { executor: name, endpoint, state, status } = executor;
  const detailsId = `tasks-${endpoint}`;
  return (
    <Fragment>
      <tr data-open={open}>
        <td className="executor-name">
          <button
            type="button"
            className="link mono"
            aria-expanded={open}
            aria-controls={open ? detailsId : undefined}
            onClick={() => onOpen(!open)}
          >
            <span aria-hidden="true">{open ? '▾' : '▸'}</span> {endpoint}
          </button>
          <span className="quiet executor-group">{name}</span>
        </td>
        <td>
          <ExecutorChip state={state} />
          <Answered executor={executor} now={now} />
        </td>
        <td>{status?.tier}</td>
        <td>{status !== null && <Workers busy={status.busy} workers={status.workers} />}</td>
        <td className="number tabular">
          {status !== null && (
            <span title={`${status.max_pending_tasks} tasks may wait`}>
              {status.queue_depth}
              <span className="quiet"> of {status.max_pending_tasks}</span>
            </span>
          )}
        </td>
        <td className="executor-error">
          <LastError executor={executor} now={now} />
        </td>
      </tr>
      {open && (
        <tr className="row-more">
          <td colSpan={HEADERS.length} id={detailsId}>
            <RecentTasks tasks={status?.recent ?? []} now={now} />
          </td>
        </tr>
      )}
    </Fragment>
  );
}

function Answered({ executor: { answered_at }, now }: { executor: Executor; now: number }) {
  const at = parseTime(answered_at);
  if (at === null) return null;
  return (
    <span className="quiet executor-answered" title={formatMoment(at)}>
      responded {formatAgo(at, now)}
    </span>
  );
}

function Workers({ busy, workers }: { busy: number; workers: number }) {
  return (
    <span className="executor-workers">
      <meter min={0} max={Math.max(1, workers)} value={busy} aria-label={`${busy} of ${workers} workers are busy`} />
      <span className="tabular">
        {busy} <span className="quiet">of {workers}</span>
      </span>
    </span>
  );
}

function LastError({ executor: { last_error }, now }: { executor: Executor; now: number }) {
  if (last_error === null) return null;
  const at = parseTime(last_error.at);
  return (
    <>
      {last_error.message}
      {at !== null && <span className="quiet executor-answered">{formatAgo(at, now)}</span>}
    </>
  );
}

function NoExecutors() {
  return (
    <div className="notice">
      <p>No executors configured.</p>
      <p className="quiet">
        Start an executor with <code>heddle executor</code>, and configure it in the server:{' '}
        <code>HEDDLE_EXECUTORS</code> and <code>HEDDLE_EXECUTOR_CLIENT</code>. Tasks of the kind{' '}
        <code>RemoteEvent</code> then run there.
      </p>
    </div>
  );
}
