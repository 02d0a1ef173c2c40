import { ApiError } from '../api/client.ts';
import { Problem } from '../problem.tsx';
import { formatClock } from '../times.ts';

/** Explains why a list is not current: the server is unavailable and will be retried, or it rejected the request. */
export function Trouble({ error, heardAtMs }: { error: unknown; heardAtMs: number | null }) {
  if (!(error instanceof ApiError) || !error.transient) return <Problem error={error} />;
  return (
    <div className="banner" role="status">
      <strong>{error.status === 0 ? 'The server is unreachable.' : error.message}</strong> Reconnecting every few
      seconds.
      {heardAtMs === null
        ? ' Check that it is running at this address.'
        : ` Last updated at ${formatClock(heardAtMs)}.`}
    </div>
  );
}
