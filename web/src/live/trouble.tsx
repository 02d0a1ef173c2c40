import { ApiError } from '../api/client.ts';
import { Problem } from '../problem.tsx';
import { formatClock } from '../times.ts';

/** Says why a list is not fresh: the server is away and will be asked again, or it refuses. */
export function Trouble({ error, heardAtMs }: { error: unknown; heardAtMs: number | null }) {
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
