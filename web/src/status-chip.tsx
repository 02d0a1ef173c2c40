import { STATUS_ICON } from './status.ts';
import type { Status } from './status.ts';

/** The colored square with a state's sign, as on the cards of the graph. */
export function StatusMark({ status }: { status: Status }) {
  return (
    <span className={`mark mark-${status.toLowerCase()}`} aria-hidden="true">
      <img src={STATUS_ICON[status]} alt="" width="12" height="12" />
    </span>
  );
}

export function StatusChip({ status }: { status: Status }) {
  return (
    <span className="status-chip">
      <StatusMark status={status} />
      {status}
    </span>
  );
}
