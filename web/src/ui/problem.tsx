import { ApiError } from '../api/client.ts';
import { formatClock } from '../times.ts';

/** An error in the server's words: the message, then one line per detail. */
export function ProblemBox({ error }: { error: unknown }) {
  const message = error instanceof Error ? error.message : String(error);
  const details = error instanceof ApiError ? error.details : [];
  return (
    <div className="problem" role="alert">
      <p>{message}</p>
      {details.length > 0 && (
        <ul>
          {details.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Explains why a view is not current: the server is unavailable and is asked again, or it rejected the request. */
export function Trouble({ error, updatedAtMs }: { error: unknown; updatedAtMs: number }) {
  if (!(error instanceof ApiError) || !error.transient) return <ProblemBox error={error} />;
  return (
    <div className="banner" role="status">
      <strong>{error.status === 0 ? 'The server is unreachable.' : error.message}</strong> Reconnecting every few
      seconds.
      {updatedAtMs === 0
        ? ' Check that it is running at this address.'
        : ` Last updated at ${formatClock(updatedAtMs)}.`}
    </div>
  );
}
