import type { Minute } from '@heddle/client';
import { Suspense, lazy } from 'react';
import { formatDuration } from '../times.ts';
import { Loading } from '../ui/loading.tsx';

// Without the library of charts, as in a browser whose language it does not know, the rest of the page still works.
const Chart = lazy(() =>
  import('../ui/chart.tsx').then(
    (module) => ({ default: module.Chart }),
    () => ({ default: NoChart }),
  ),
);

function NoChart({ title }: { title: string }) {
  return <p className="quiet">{title}: this browser cannot draw charts.</p>;
}

/** Ended tasks and waiting times of the last hour, minute by minute. */
export function ActivityChart({ minutes }: { minutes: readonly Minute[] }) {
  const at = minutes.map(({ minute }) => Date.parse(minute) / 1000);
  return (
    <Suspense fallback={<Loading />}>
      <div className="charts">
        <Chart
          title="Ended tasks a minute"
          at={at}
          series={[
            { label: 'Succeeded', colour: '--status-success', values: minutes.map(({ succeeded }) => succeeded) },
            { label: 'Failed', colour: '--status-failure', values: minutes.map(({ failed }) => failed) },
          ]}
          format={(value) => value.toLocaleString()}
        />
        <Chart
          title="Wait until the start"
          at={at}
          series={[
            { label: 'Median', colour: '--status-running', values: minutes.map(({ wait_p50_ms }) => wait_p50_ms) },
            { label: '95 %', colour: '--status-paused', values: minutes.map(({ wait_p95_ms }) => wait_p95_ms) },
          ]}
          format={formatDuration}
        />
      </div>
    </Suspense>
  );
}
