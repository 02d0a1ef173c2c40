import { STATUSES, STATUS_MEANING } from '../status.ts';
import type { Status, StatusCounts } from '../status.ts';
import { StatusMark } from '../status-chip.tsx';

interface LegendProps {
  counts: StatusCounts;
  shown: ReadonlySet<Status>;
  onChange: (shown: ReadonlySet<Status>) => void;
}

/**
 * The colors' meanings, the number of tasks in each state, and a filter: the first click selects one state, others add
 * more.
 */
export function Legend({ counts, shown, onChange }: LegendProps) {
  const all = shown.size === STATUSES.length;
  const toggle = (status: Status): void => {
    if (all) {
      onChange(new Set([status]));
      return;
    }
    const next = new Set(shown);
    if (!next.delete(status)) next.add(status);
    onChange(next.size === 0 ? new Set(STATUSES) : next);
  };
  return (
    <div className="legend" role="group" aria-label="Filter by state">
      {STATUSES.map((status) => (
        <button
          key={status}
          type="button"
          className="legend-entry"
          aria-pressed={!all && shown.has(status)}
          data-muted={counts[status] === 0 || (!all && !shown.has(status))}
          title={`${status}: ${STATUS_MEANING[status]}`}
          onClick={() => toggle(status)}
        >
          <StatusMark status={status} />
          {status} <b className="tabular">{counts[status].toLocaleString()}</b>
        </button>
      ))}
    </div>
  );
}
