import type { Executor } from '@heddle/client';

type Status = NonNullable<Executor['status']>;

/** How many of the workers of an executor run tasks. */
export function BusyWorkers({ status: { busy, workers } }: { status: Pick<Status, 'busy' | 'workers'> }) {
  return (
    <span className="busy-workers">
      <meter min={0} max={Math.max(1, workers)} value={busy} aria-label={`${busy} of ${workers} workers are busy`} />
      <span className="tabular">
        {busy} of {workers}
      </span>
    </span>
  );
}
