import { STATUSES } from '../status.ts';
import type { Status } from '../status.ts';
import { formatDuration, parseTime, useNow } from '../times.ts';
import type { TaskStore } from './task-store.ts';

/** Finished states first, so that the bar fills from the left. */
const BAR_ORDER: readonly Status[] = [
  'Success',
  'Failure',
  'Canceled',
  'Running',
  'Claimed',
  'Paused',
  'Pending',
  'Waiting',
];

/** Progress of the batch: a bar by state, the count, the time. */
export function ProgressSummary({ store }: { store: TaskStore }) {
  const total = store.tasks.size;
  const now = useNow(1000, !store.finished);
  const span = spanOf(store);
  const elapsed = span.from === null ? null : (store.finished ? (span.to ?? now) : now) - span.from;
  const percent = Math.floor((100 * store.done) / total);
  const parts = STATUSES.filter((status) => store.counts[status] > 0);
  return (
    <div className="progress-summary">
      <p className="tabular" data-testid="progress">
        <strong>
          {store.done.toLocaleString()} of {total.toLocaleString()}
        </strong>{' '}
        {total === 1 ? 'task' : 'tasks'} done <span className="quiet">· {percent} %</span>
        {store.counts.Failure > 0 && (
          <span className="failed-count"> · {store.counts.Failure.toLocaleString()} failed</span>
        )}
        {elapsed !== null && (
          <span className="quiet">
            {' '}
            · {store.finished ? 'took' : 'running for'} {formatDuration(elapsed)}
          </span>
        )}
      </p>
      <div
        className="status-bar"
        role="img"
        aria-label={parts.map((status) => `${status}: ${store.counts[status]}`).join(', ')}
      >
        {BAR_ORDER.filter((status) => store.counts[status] > 0).map((status) => (
          <span
            key={status}
            className={`bar-${status.toLowerCase()}`}
            style={{ flexGrow: store.counts[status] }}
            title={`${status}: ${store.counts[status].toLocaleString()}`}
          />
        ))}
      </div>
    </div>
  );
}

function spanOf(store: TaskStore): { from: number | null; to: number | null } {
  let from = parseTime(store.batch?.created_at);
  let to = parseTime(store.batch?.ended_at);
  if (from !== null && (to !== null || !store.finished)) return { from, to };
  for (const task of store.tasks.values()) {
    if (task.createdAt !== null) from = Math.min(from ?? task.createdAt, task.createdAt);
    to = Math.max(to ?? 0, task.endedAt ?? task.updatedAt);
  }
  return { from, to };
}
